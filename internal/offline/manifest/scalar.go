package manifest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// isPlain reports whether a string can be printed without quotes and is parsed as the same string by YAML 1.1 and 1.2. It is
// stricter than YAML: letters, digits and a few signs, starting with a letter or a slash.
func isPlain(s string) bool {
	if s == "" || len(s) > 120 {
		return false
	}
	if c := s[0]; !letter(c) && c != '/' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case letter(c), '0' <= c && c <= '9', strings.IndexByte("-_./()", c) >= 0:
		case c == ':' || c == ' ':
			// A colon before a space, a space before # and a trailing one of either have a meaning.
			if i+1 == len(s) || s[i+1] == ' ' || s[i+1] == ':' {
				return false
			}
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		return false
	}
	return true
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// block reports whether a string can be printed as a literal block (|), which keeps every character. It cannot if white space would be
// lost: before the first line, or as more than one empty line at the end.
func block(s string) bool {
	if !strings.Contains(s, "\n") || !utf8.ValidString(s) || strings.HasSuffix(s, "\n\n") {
		return false
	}
	if c := s[0]; c == ' ' || c == '\t' || c == '\n' {
		return false
	}
	for _, r := range s {
		if special(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// special reports whether YAML parsers reject or drop a character or treat it as a line break, or whether it is invisible.
func special(r rune) bool {
	switch r {
	case 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
		return true
	}
	return r < ' ' || 0x7f <= r && r <= 0xa0
}

// quoted prints a string in double quotes.
func quoted(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case special(r):
			const base, digits = 16, 4
			hex := strconv.FormatInt(int64(r), base)
			out = append(out, `\u`...)
			out = append(out, strings.Repeat("0", digits-len(hex))...)
			out = append(out, hex...)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}
