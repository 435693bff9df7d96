package batchjob

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	hidden = "***"
	// maxLog of a record, in bytes (the schema allows 4096 characters).
	maxLog = 4000
)

// secrets are what a log may hold of them, and what remains.
var secrets = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// Keys and certificates, whole or cut off at either end.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`), hidden},
	{regexp.MustCompile(`(?s)\A[A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]+-----`), hidden},
	// mysql+pymysql://user:password@host, whatever is in the password.
	{regexp.MustCompile(`(://[^\s:/@'"]*):[^\s'"]*@`), "${1}:" + hidden + "@"},
	// IDENTIFIED BY 'password'
	{regexp.MustCompile(`(?i)(identified\s+(?:by|with\s+\S+\s+(?:by|as))\s+(?:password\s+)?)('[^']*'|"[^"]*"|\S+)`), "${1}" + hidden},
	// Authorization: Bearer token
	{regexp.MustCompile(`(?i)((?:authorization|x-(?:auth|subject|service)-token)["']?\s*[:=]\s*).*`), "${1}" + hidden},
	// password = word; 'secret': 'word'; --token=word
	{regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|token|api_?key|(?:secret|private|access)_key)["']?\s*[=:]\s*)` +
		`(u?b?"(?:[^"\\]|\\.)*"|u?b?'(?:[^'\\]|\\.)*'|.*)`), "${1}" + hidden},
}

// words are long enough to be a generated password, a key or a token.
var words = regexp.MustCompile(`[A-Za-z0-9+=]{20,}`)

// redacted is a text without what looks like a secret.
func redacted(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if generated(word) {
			return hidden
		}
		return word
	})
}

// generated reports whether a word looks like one that no human wrote: small and capital letters and digits.
func generated(word string) bool {
	return strings.ContainsFunc(word, unicode.IsLower) && strings.ContainsFunc(word, unicode.IsUpper) &&
		strings.ContainsFunc(word, unicode.IsDigit)
}

// TailForStatus is the end of an output, fit for a status: without secrets, which are removed before the text is cut, because half a
// URL shows its password.
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

// LastLine of an excerpt.
func LastLine(text string) string {
	return text[strings.LastIndex(text, "\n")+1:]
}
