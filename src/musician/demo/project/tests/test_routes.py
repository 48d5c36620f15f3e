import unittest

from pigeonpost import routes


class Lofts(unittest.TestCase):
    def test_every_loft_on_the_map_is_known(self):
        self.assertEqual(
            list(routes.read_lofts()), ["Dovecote Hill", "Millbrook", "Saint-Élan", "Nordhavn"]
        )

    def test_a_loft_has_its_place(self):
        self.assertEqual(routes.read_lofts()["Millbrook"], routes.Loft("Millbrook", 3, 4))


class TheWay(unittest.TestCase):
    def setUp(self):
        self.lofts = routes.read_lofts()

    def test_distance_is_measured_as_the_pigeon_flies(self):
        self.assertEqual(routes.km_between(self.lofts["Dovecote Hill"], self.lofts["Saint-Élan"]), 29)

    def test_it_is_as_far_back_as_there(self):
        here, there = self.lofts["Millbrook"], self.lofts["Nordhavn"]
        self.assertEqual(routes.km_between(here, there), routes.km_between(there, here))

    def test_a_flight_takes_whole_minutes_rounded_up(self):
        self.assertEqual(routes.flight_minutes(70), 60)
        self.assertEqual(routes.flight_minutes(29), 25)

    def test_a_tail_wind_helps_and_a_storm_grounds_the_pigeon(self):
        self.assertEqual(routes.flight_minutes(70, wind_km_h=14), 50)
        with self.assertRaises(ValueError):
            routes.flight_minutes(10, wind_km_h=-70)
