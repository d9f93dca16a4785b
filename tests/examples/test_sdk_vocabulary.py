"""What the SDKs have in common, as far as their sources show it without being built."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from contract import text  # noqa: E402 (the path stands above the import)


class Descriptions(unittest.TestCase):
    """Descriptions of openapi.yaml in the types of a language: tools/types."""

    def test_names_are_the_languages_and_values_are_the_apis(self):
        names = {"fair_key": "fairKey", "expires_at": "expiresAt"}
        for said, wanted in (
            ("not together with `expires_at`", "not together with `expiresAt`"),
            ("With `by=fair_key`; null of `others`.", "With `by=fair_key`; null of `others`."),
            ("`fair_key=acme`, and fair_key", "`fairKey=acme`, and fair_key"),
        ):
            self.assertEqual(text.renamed(said, names), wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
