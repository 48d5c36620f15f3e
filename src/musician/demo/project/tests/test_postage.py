import unittest

from pigeonpost import postage


class Postage(unittest.TestCase):
    def test_near_letters_need_the_small_stamp(self):
        self.assertEqual(postage.price_cents(km=5, grams=10), 40 + 10 * 2)

    def test_the_last_kilometre_of_a_zone_belongs_to_it(self):
        self.assertEqual(postage.price_cents(km=50, grams=1), 65 + 3)

    def test_far_letters_need_the_large_stamp(self):
        self.assertEqual(postage.price_cents(km=100, grams=20), 110 + 20 * 5)

    def test_no_pigeon_flies_farther_than_the_tariff_goes(self):
        with self.assertRaises(ValueError):
            postage.price_cents(km=201, grams=1)
