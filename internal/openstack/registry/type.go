package registry

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Kinds of types, named after the types of oslo.config.
const (
	kindString   = "string"
	kindBoolean  = "boolean"
	kindInteger  = "integer"
	kindFloat    = "float"
	kindPort     = "port"
	kindList     = "list"
	kindDict     = "dict"
	kindRange    = "range"
	kindIP       = "ip"
	kindHostname = "hostname"
	kindHost     = "host"
	kindDomain   = "domain"
	kindURI      = "uri"
)

// Type describes the valid values of an option.
type Type struct {
	// Kind: string, boolean, integer, float, port, list, dict, range (an integer or two with a hyphen), ip,
	// hostname, host (either of them), domain (a host whose name may have underscores) and uri.
	Kind string `json:"type"`
	// Min and Max are the smallest and largest number. Empty: no limit.
	Min json.Number `json:"min"`
	Max json.Number `json:"max"`
	// Choices are the valid values. Empty: not restricted.
	Choices []string `json:"choices"`
	// Pattern is a regular expression, in Python's syntax, that must match a part of the value.
	Pattern string `json:"pattern"`
	// IgnoreCase is true if Choices and Pattern are case-insensitive.
	IgnoreCase bool `json:"ignoreCase"`
	// MaxLength is the maximum number of characters. 0: no limit.
	MaxLength int `json:"maxLength"`
	// IPVersion is 4 or 6. 0: either.
	IPVersion int `json:"ipVersion"`
	// Schemes are the valid schemes of a URI. Empty: any.
	Schemes []string `json:"schemes"`
	// Item is the type of a list's items or of a dict's values. Nil: any string.
	Item *Type `json:"item"`
	// Bounded is true if a list is in brackets and a dict in braces.
	Bounded bool `json:"bounded"`
	// Separator separates the key and the value of a dict. Empty: a colon.
	Separator string `json:"separator"`
}

// Allowed returns a description of the valid values, as the continuation of "must be".
func (t *Type) Allowed() string {
	var out string
	switch t.Kind {
	case kindBoolean:
		out = "true or false"
	case kindInteger:
		out = "a whole number" + t.interval()
	case kindFloat:
		out = "a number" + t.interval()
	case kindPort:
		out = "a port" + t.interval()
	case kindRange:
		out = "a whole number or a range such as 1-9" + t.interval()
	case kindIP:
		out = "an IP address" + t.version()
	case kindHostname:
		out = "a host name"
	case kindHost, kindDomain:
		out = "a host name or an IP address" + t.version()
	case kindURI:
		out = "a URI such as https://example.org/path"
		if len(t.Schemes) > 0 {
			out += " with one of the schemes " + strings.Join(t.Schemes, ", ")
		}
	case kindList:
		out = "a list" + t.within("[]") + t.each("item")
	case kindDict:
		out = fmt.Sprintf("pairs key%svalue with commas between them", t.separator()) + t.within("{}") + t.each("value")
	default:
		out = "a string"
	}
	if len(t.Choices) > 0 {
		out = "one of " + strings.Join(quoteEmpty(t.Choices), ", ")
	}
	if t.Pattern != "" {
		out += " that matches " + t.Pattern
	}
	if t.MaxLength > 0 {
		out += fmt.Sprintf(" of at most %d characters", t.MaxLength)
	}
	return out
}

func (t *Type) interval() string {
	switch {
	case t.Min != "" && t.Max != "":
		return fmt.Sprintf(" from %s to %s", t.Min, t.Max)
	case t.Min != "":
		return fmt.Sprintf(" of at least %s", t.Min)
	case t.Max != "":
		return fmt.Sprintf(" of at most %s", t.Max)
	}
	return ""
}

func (t *Type) version() string {
	if t.IPVersion == 0 {
		return ""
	}
	return fmt.Sprintf(" of version %d", t.IPVersion)
}

func (t *Type) within(brackets string) string {
	if !t.Bounded {
		return ""
	}
	return " in " + brackets
}

func (t *Type) each(part string) string {
	if t.Item == nil {
		return ""
	}
	return ", each " + part + " " + t.Item.Allowed()
}

func (t *Type) separator() string {
	if t.Separator == "" {
		return ":"
	}
	return t.Separator
}

func quoteEmpty(choices []string) []string {
	out := slices.Clone(choices)
	for i := range out {
		if out[i] == "" {
			out[i] = `""`
		}
	}
	return out
}

// accepts reports whether oslo.config accepts the text, which has no control characters. Otherwise, bad is the rejected
// part.
func (t *Type) accepts(text string) (bad string, ok bool) {
	switch t.Kind {
	case kindBoolean:
		ok = slices.Contains([]string{"true", "1", "on", "yes", "false", "0", "off", "no"}, strings.ToLower(text))
	case kindInteger, kindPort:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		ok = err == nil && t.inInterval(float64(n)) && (len(t.Choices) == 0 || slices.Contains(t.Choices, strconv.FormatInt(n, 10)))
	case kindFloat:
		trimmed := strings.TrimSpace(text)
		n, err := strconv.ParseFloat(trimmed, 64)
		ok = err == nil && decimal.MatchString(trimmed) && t.inInterval(n)
	case kindRange:
		ok = t.isRange(text)
	case kindIP:
		ok = t.isIP(text)
	case kindHostname:
		ok = isHostname(text, label)
	case kindHost:
		ok = t.isIP(text) || isHostname(text, label)
	case kindDomain:
		ok = t.isIP(text) || isHostname(text, domainLabel)
	case kindURI:
		ok = t.withinMaxLength(text) && t.isURI(text)
	case kindList:
		return t.acceptsList(text)
	case kindDict:
		return t.acceptsDict(text)
	default:
		ok = t.withinMaxLength(text) && t.isChoice(text) && t.matches(text)
	}
	return text, ok
}

// decimal matches common number formats: Go and Python differ in the other formats that they accept.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func (t *Type) inInterval(n float64) bool {
	least, errMin := t.Min.Float64()
	most, errMax := t.Max.Float64()
	return (errMin != nil || n >= least) && (errMax != nil || n <= most)
}

func (t *Type) withinMaxLength(text string) bool {
	return t.MaxLength == 0 || utf8.RuneCountInString(text) <= t.MaxLength
}

func (t *Type) isChoice(text string) bool {
	return len(t.Choices) == 0 || slices.ContainsFunc(t.Choices, func(choice string) bool {
		return choice == text || t.IgnoreCase && strings.EqualFold(choice, text)
	})
}

// patterns are the compiled patterns of types.
var patterns sync.Map

// matches returns true if Go cannot compile the pattern, such as Python's lookaround.
func (t *Type) matches(text string) bool {
	if t.Pattern == "" {
		return true
	}
	pattern := t.Pattern
	if t.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	compiled, known := patterns.Load(pattern)
	if !known {
		compiled, _ = regexp.Compile(pattern)
		patterns.Store(pattern, compiled)
	}
	expression, _ := compiled.(*regexp.Regexp)
	return expression == nil || expression.MatchString(text)
}

var rangeText = regexp.MustCompile(`^(0|-?[1-9][0-9]*)(?:-(0|-?[1-9][0-9]*))?$`)

func (t *Type) isRange(text string) bool {
	ends := rangeText.FindStringSubmatch(text)
	if ends == nil {
		return false
	}
	for _, end := range ends[1:] {
		if n, err := strconv.ParseInt(end, 10, 64); end != "" && (err != nil || !t.inInterval(float64(n))) {
			return false
		}
	}
	return true
}
