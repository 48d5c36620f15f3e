import subprocess
import sys
import unittest

from pigeonpost import desk


class TheDesk(unittest.TestCase):
    def test_a_receipt_has_label_price_and_time(self):
        receipt = desk.send("Zoë Brandt", "Saint-Élan", grams=12)
        self.assertIn("SAINT-ÉLAN", receipt.label)
        self.assertEqual((receipt.cents, receipt.minutes), (65 + 12 * 3, 25))

    def test_an_unknown_town_is_named(self):
        with self.assertRaisesRegex(ValueError, "Atlantis"):
            desk.send("Zoë", "Atlantis", grams=12)

    def test_a_letter_may_be_too_heavy_for_a_pigeon(self):
        with self.assertRaisesRegex(ValueError, "75 g"):
            desk.send("Zoë", "Millbrook", grams=76)


class TheProgram(unittest.TestCase):
    def run_it(self, *arguments):
        return subprocess.run(
            [sys.executable, "-X", "utf8", "-m", "pigeonpost", *arguments],
            capture_output=True,
            encoding="utf-8",
        )

    def test_it_prints_the_receipt(self):
        ran = self.run_it("Zoë", "Millbrook", "10")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("0.60", ran.stdout)
        self.assertIn("5 minutes", ran.stdout)

    def test_it_says_why_it_cannot(self):
        ran = self.run_it("Zoë", "Atlantis", "10")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("Atlantis", ran.stderr)
