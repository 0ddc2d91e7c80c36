#!/usr/bin/env python3
"""Writes src/base/unicode.def: the properties of characters that onx knows.

    pip install google-re2; tool/unicode-tables.py > src/base/unicode.def

Categories, scripts and case folding are read out of RE2 itself, by asking it which characters each
of its groups matches: so the tables are those of the version of Unicode that RE2 has. Lower and
upper case are the simple mappings (one character to one) of Python's unicodedata."""
import re2
import sys

LAST = 0x10FFFF
ALL = [chr(c).encode("utf-8", "surrogatepass") for c in range(LAST + 1)]

CATEGORIES = "Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs"
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak
Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian
Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari
Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic
Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran
Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi
Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin
Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen
Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu
Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic
Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene
Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa
Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri
Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square"""


def options():
    o = re2.Options()
    o.log_errors = False
    o.max_mem = 1 << 28
    return o


def matched(pattern, text):
    """The code points of `text` (UTF-8, or surrogates written so) that a pattern of one matches."""
    out = []
    for m in re2.compile(pattern, options()).finditer(text):
        out += [ord(c) for c in m.group().decode("utf-8", "surrogatepass")]
    return out


def values(names):
    """For each code point the place of its group in `names`, from 1; 0: it is in none."""
    text, out = b"".join(ALL), [0] * (LAST + 1)
    for i, name in enumerate(names):
        for c in matched(b"\\p{%s}+" % name.encode(), text):
            assert out[c] == 0, (name, c)
            out[c] = i + 1
    return out


def known(names):
    def ok(name):
        try:
            re2.compile(b"\\p{%s}" % name.encode(), options())
            return True
        except re2.error:
            print("RE2 has no", name, file=sys.stderr)
            return False
    return [n for n in names if ok(n)]


def lines(macro, items):
    print(f"#define {macro} \\")
    row = "   "
    for item in items:
        if len(row) + len(item) + 4 > 98:
            print(f"{row:<99}\\")
            row = "   "
        row += " " + item + ","
    print(row)


def runs(name, names):
    names = known(names)
    table, last = [], None
    for c, v in enumerate(values(names)):
        if v != last:
            table.append(f"0x{c << 11 | v:x}")
        last = v
    lines(f"ONX_UNICODE_{name}_NAMES", ['"%s"' % n for n in names])
    lines(f"ONX_UNICODE_{name}_RUNS", table)


def steps(macro, mapping):
    """{first, last, stride, delta}: what moves by the same distance, each or each second; by their
    first, for two that take turns overlap."""
    out, latest = [], {}
    for c, to in sorted(mapping.items()):
        run = latest.get(to - c)
        step = c - run[1] if run else 0
        if run and (step == run[2] or (run[2] == 0 and step <= 2)):
            run[1:3] = c, step
            continue
        latest[to - c] = run = [c, c, 0, to - c]
        out.append(run)
    lines(macro, ["{0x%x, 0x%x, %d, %d}" % (f, l, max(s, 1), d) for f, l, s, d in out])


def simple(c, change):
    to = change(chr(c))
    if len(to) > 1 and change is str.upper:
        to = chr(c).title()
    if len(to) > 1:
        to = to[0] if c == 0x130 else chr(c)
    return ord(to)


def main():
    letters = [c for c in range(LAST + 1) if not 0xD800 <= c < 0xE000]
    print("/* unicode.def: properties of characters. Written by tool/unicode-tables.py. */")
    runs("CATEGORY", CATEGORIES.split())
    runs("SCRIPT", SCRIPTS.split())
    for macro, change in (("ONX_UNICODE_LOWER", str.lower), ("ONX_UNICODE_UPPER", str.upper)):
        steps(macro, {c: simple(c, change) for c in letters if simple(c, change) != c})
    folded = set(matched(b"[\\pL\\p{Nl}\\p{So}\\p{Mn}]+", b"".join(ALL)))
    cased = [c for c in sorted(folded) if chr(c).lower() != chr(c) or chr(c).upper() != chr(c)
             or chr(c).casefold() != chr(c)]
    text, orbit = b"".join(ALL[c] for c in cased), {}
    for c in cased:
        all_of = matched(b"(?i)\\x{%x}" % c, text)
        following = [x for x in all_of if x > c] or all_of
        if len(all_of) > 1:
            orbit[c] = min(following)
    steps("ONX_UNICODE_FOLD", orbit)


main()
