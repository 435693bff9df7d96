// Package terminal makes texts of claims and clusters safe to print on a terminal.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
)

// Escape returns a text whose control characters and invisible characters, line breaks included, are escaped: a text of a tenant cannot
// change other lines, colors or the clipboard.
func Escape(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isHidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// EscapeLines is like Escape, and keeps line breaks.
func EscapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Escape(line)
	}
	return strings.Join(lines, "\n")
}

func isHidden(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) }
