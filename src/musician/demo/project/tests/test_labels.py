import unittest

from pigeonpost import labels


class Labels(unittest.TestCase):
    def test_stray_spaces_are_tidied(self):
        self.assertEqual(labels.tidy("  Zoë \t Brandt\n"), "Zoë Brandt")

    def test_a_long_line_is_cut_with_a_sign_that_it_was(self):
        self.assertEqual(labels.fit("Bartholomäus von Taubenschlag", 12), "Bartholomäu…")

    def test_a_line_that_fits_is_left_alone(self):
        self.assertEqual(labels.fit("Zoë", 12), "Zoë")

    def test_a_label_is_a_box_with_name_and_town(self):
        self.assertEqual(
            labels.label(" Zoë  Brandt", "Saint-Élan").splitlines(),
            [
                "┌──────────────────────────┐",
                "│ Zoë Brandt               │",
                "│ SAINT-ÉLAN               │",
                "└──────────────────────────┘",
            ],
        )

    def test_every_line_of_a_label_is_equally_wide(self):
        lines = labels.label("Bartholomäus von und zu Taubenschlag", "Nordhavn").splitlines()
        self.assertEqual({len(line) for line in lines}, {labels.WIDTH + 4})
