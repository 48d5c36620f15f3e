-- What the database's own guards must know (D40).

-- name: keep_setting
-- The file's value, where the guards find it; a row that says so already is not written.
INSERT INTO settings (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value;

-- name: settings
SELECT name, value FROM settings WHERE name NOT GLOB 'schema.*' ORDER BY name;
