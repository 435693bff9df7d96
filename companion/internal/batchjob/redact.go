package batchjob

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = "***"
	// maxLog is the maximum length of a record's log in bytes (the CRD allows 4096 characters).
	maxLog = 4000
)

// secrets are patterns of secrets in logs, with their replacements.
var secrets = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// Keys and certificates, complete or truncated at either end.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`), hidden},
	{regexp.MustCompile(`(?s)\A[A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]+-----`), hidden},
	// mysql+pymysql://user:password@host, with any characters in the password.
	{regexp.MustCompile(`(://[^\s:/@'"]*):[^\s'"]*@`), "${1}:" + hidden + "@"},
	// IDENTIFIED BY 'password'
	{regexp.MustCompile(`(?i)(identified\s+(?:by|with\s+\S+\s+(?:by|as))\s+(?:password\s+)?)('[^']*'|"[^"]*"|\S+)`), "${1}" + hidden},
	// Authorization: Bearer token
	{regexp.MustCompile(`(?i)((?:authorization|x-(?:auth|subject|service)-token)["']?\s*[:=]\s*).*`), "${1}" + hidden},
	// password = word; 'secret': 'word'; --token=word
	{regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|token|api_?key|(?:secret|private|access)_key)["']?\s*[=:]\s*)` +
		`(u?b?"(?:[^"\\]|\\.)*"|u?b?'(?:[^'\\]|\\.)*'|.*)`), "${1}" + hidden},
}

// tokenPattern are long enough to be a generated password, a key or a token.
var tokenPattern = regexp.MustCompile(`[A-Za-z0-9+=]{20,}`)

// redacted returns a text in which probable secrets are replaced.
func redacted(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	return tokenPattern.ReplaceAllStringFunc(text, func(word string) string {
		if generated(word) {
			return hidden
		}
		return word
	})
}

// generated reports whether a word looks generated: it has lower-case and upper-case letters and digits.
func generated(word string) bool {
	return strings.ContainsFunc(word, unicode.IsLower) && strings.ContainsFunc(word, unicode.IsUpper) &&
		strings.ContainsFunc(word, unicode.IsDigit)
}

// TailForStatus returns the end of an output for a status. Secrets are redacted before the text is truncated, because a part
// of a URL can expose its password.
func TailForStatus(output string) string {
	text := strings.TrimSpace(redacted(strings.ToValidUTF8(output, "?")))
	if len(text) <= maxLog {
		return text
	}
	text = text[len(text)-maxLog:]
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if _, rest, found := strings.Cut(text, "\n"); found {
		return rest
	}
	return text
}

// LastLine returns the last line of an excerpt.
func LastLine(text string) string {
	return text[strings.LastIndex(text, "\n")+1:]
}
