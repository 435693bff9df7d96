package secretaggregate

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

func source(name, secret, key string) c5c3v1.SecretSource {
	return c5c3v1.SecretSource{Name: name, SecretKeyRef: common.SecretKeyReference{Name: common.ObjectName(secret),
		Key: common.SecretKey(key)}}
}

// render renders one key from one source.
func render(text, escape, value string) (string, error) {
	s := source("a", "secret", "key")
	s.Escape = escape
	spec := &c5c3v1.SecretAggregateSpec{Sources: []c5c3v1.SecretSource{s},
		Template: map[string]c5c3v1.SecretTemplate{"out": c5c3v1.SecretTemplate(text)}}
	templates, err := parsed(spec)
	if err != nil {
		return "", err
	}
	data, err := rendered(templates, spec.Sources, map[string]string{"a": value})
	return string(data["out"]), err
}

func TestRendersOrRejectsTemplates(t *testing.T) {
	for name, tc := range map[string]struct {
		reason              string
		text, escape, value string
		want, wantErr       string
	}{
		"Text":   {reason: "A text is not changed.", text: "a: $b {c} <&>", want: "a: $b {c} <&>"},
		"Empty":  {reason: "So does an empty template.", text: ""},
		"Value":  {reason: "A source is inserted unchanged.", text: "<{{ .a }}>", value: "x\n\"'<&$%", want: "<x\n\"'<&$%>"},
		"Binary": {reason: "Any bytes are allowed.", text: "{{ .a }}", value: "\xff\x00", want: "\xff\x00"},
		"Syntax": {reason: "A value is data, even if it looks like a template.", text: "{{ .a }}", value: "{{ .b }}{{ quote 1 }}",
			want: "{{ .b }}{{ quote 1 }}"},
		"Trimmed":     {reason: "Spaces around an action can be trimmed.", text: "x  {{- .a -}}  y", value: "v", want: "xvy"},
		"Comment":     {reason: "A comment is not in the Secret.", text: "a{{/* why */}}b", want: "ab"},
		"Braces":      {reason: "Braces are written as a string.", text: `{{ "{{" }} x`, want: "{{ x"},
		"Quote":       {reason: "A string of YAML.", text: "p: {{ .a | quote }}", value: "a\"\\\n<é", want: `p: "a\"\\\n<é"`},
		"QuoteCalled": {reason: "A function may be a prefix.", text: "{{ quote .a }}", value: "x", want: `"x"`},
		"QuoteBinary": {reason: "YAML is UTF-8.", text: "{{ quote .a }}", value: "\xffsecret", wantErr: "the value must be valid UTF-8"},
		"Base64":      {reason: "For a Secret in a Secret.", text: "{{ .a | trim | base64 }}", value: " x\n", want: "eA=="},
		"Oslo": {reason: "oslo.config reads it literally.", text: "password = {{ .a }}", escape: "OsloConfig", value: `$x\$y`,
			want: `password = $$x\\$y`},
		"None":       {reason: "A source is inserted unchanged.", text: "{{ .a }}", escape: "None", value: "$x", want: "$x"},
		"OsloSpaces": {reason: "Leading and trailing spaces require quotes.", text: "{{ .a }}", escape: "OsloConfig", value: " x", want: `" x"`},
		"OsloTwoLines": {reason: "An option is one line: the second would be another option.", text: "{{ .a }}", escape: "OsloConfig",
			value: "x\n[DEFAULT]", wantErr: "source a (Secret secret, key key) cannot be escaped as OsloConfig"},
		"URL": {reason: "The user and the password of a URL.", text: "rabbit://u:{{ .a }}@h", escape: "URL",
			value: "p@ss:w/o?r d#%$+é", want: "rabbit://u:p%40ss%3Aw%2Fo%3Fr%20d%23%25%24%2B%C3%A9@h"},
		"ConfigParser": {reason: "Python's ConfigParser expands %(x)s.", text: `key = "{{ .a }}"`, escape: "ConfigParser",
			value: `p%(x)s"%`, want: `key = "p%%(x)s"%%"`},
		"ConfigLines": {reason: "An option is one line: the second would be another option.", text: "{{ .a }}", escape: "ConfigParser",
			value: "x\ny = z", wantErr: "cannot be escaped as ConfigParser: the value must not contain line breaks"},
		"Apache": {reason: "Apache would end at its start.", text: `{{ .a }}`, escape: "Apache", value: `a"b\c${d}`, want: `a\"b\\c${d}`},
		"ApacheLines": {reason: "A directive is one line: the second would be another directive.", text: "{{ .a }}", escape: "Apache",
			value: "x\nInclude y", wantErr: "cannot be escaped as Apache: the value must not contain line breaks"},
		"FinalNewline": {reason: "Ceph does not read a keyring without a final line end.", text: "[client.a]\nkey = {{ .a | trim }}\n",
			value: "AQ==\n", want: "[client.a]\nkey = AQ==\n"},
		"Keyring": {reason: "Rook writes the key without a line end.", text: "[client.glance]\n\tkey = {{ .a | trim }}\n",
			value: "AQB+/w==", want: "[client.glance]\n\tkey = AQB+/w==\n"},
		"EscapeUnknown": {reason: "The CRD rejects it; so does the code.", text: "x", escape: "Shell",
			wantErr: `spec.sources[a].escape: "Shell" is unknown`},
		"NotATemplate": {reason: "The error contains the location.", text: "x\n{{ .a",
			wantErr: "spec.template[out] cannot be parsed: template: out:2"},
		"NoSource": {reason: "A misspelled name is not an empty value.", text: "{{ .b }}",
			wantErr: `spec.template[out]: source "b" does not exist; the sources are a`},
		"Nested": {reason: "A source has no fields.", text: "{{ .a.b }}", wantErr: `source "a.b" does not exist`},
		"All":    {reason: "Not all sources at once.", text: "{{ . }}", wantErr: ". is not a source"},
		"Range": {reason: "A loop might never end.", text: "{{ range 1000000000000 }}{{ end }}",
			wantErr: "templates support only text and sources"},
		"If": {reason: "The content must not depend on the value of a secret.", text: "{{ if .a }}x{{ end }}",
			wantErr: "templates support only text and sources"},
		"Call": {reason: "Nor other templates.", text: `{{ define "x" }}{{ end }}{{ template "x" }}`,
			wantErr: "templates support only text and sources"},
		"Variable": {reason: "Nor variables.", text: "{{ $x := .a }}", wantErr: "variables are not supported in templates"},
		"Printf": {reason: "Go's built-in functions can produce gigabytes.", text: `{{ printf "%1000000000d" 1 }}`,
			wantErr: "printf is not a template function; use base64, quote, trim"},
		"PrintfPiped":     {reason: "Nor behind a pipe.", text: `{{ .a | printf "%1000000000s" }}`, wantErr: "printf is not a template function"},
		"Inner":           {reason: "Nor in parentheses.", text: `{{ quote (printf "%1000000000s" .a) }}`, wantErr: "is not a source"},
		"TwoValues":       {reason: "Functions require one value.", text: `{{ quote .a .a }}`, wantErr: "quote requires exactly one value"},
		"NoValue":         {reason: "And not fewer.", text: `{{ quote }}`, wantErr: "quote requires exactly one value"},
		"PipedIntoSource": {reason: "A source is not a function.", text: `{{ .a | .a }}`, wantErr: "is not a function"},
		"Number":          {reason: "Nor is a number.", text: `{{ 1 }}`, wantErr: "1 is not a source"},
		"TooLarge": {reason: "The API would reject it.", text: strings.Repeat("{{ .a }}", 3), value: strings.Repeat("x", 400000),
			wantErr: "the Secret would have 1200000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render(tc.text, tc.escape, tc.value)
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			switch {
			case (err == nil) != (tc.wantErr == ""):
				t.Errorf("%s: error %v", tc.reason, err)
			case err != nil && !strings.Contains(err.Error(), tc.wantErr):
				t.Errorf("%s: error %q, want one with %q", tc.reason, err, tc.wantErr)
			case err != nil && len(tc.value) > 2 && strings.Contains(err.Error(), tc.value):
				t.Errorf("%s: the value stands in the error: %v", tc.reason, err)
			}
		})
	}
}

// TestQuote: YAML and JSON parsers return the quoted text.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := render("{{ .a | quote }}", "", text)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON string
		if err := json.Unmarshal([]byte(quoted), &fromJSON); err != nil || fromJSON != text {
			t.Fatalf("JSON reads %q: %v", fromJSON, err)
		}
		fromYAML := map[string]string{}
		if err := yaml.Unmarshal([]byte("a: "+quoted+"\n"), &fromYAML); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"a": text}, fromYAML); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestEscapesTextForURLs: URL parsers return the escaped text, and an INI file contains it unchanged.
func TestEscapesTextForURLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		escaped, err := render("{{ .a }}", "URL", text)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse("rabbit://user:" + escaped + "@host:5671/vhost")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := u.User.Password(); got != text || strings.ContainsAny(escaped, "$\"' \n") {
			t.Fatalf("%q is read as %q", escaped, got)
		}
	})
}

// FuzzTemplate: no template panics or calls other functions, for any value.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "{{ .a }}", "{{ .a | quote }}", "{{ range 3 }}{{ end }}", "{{ $ }}", "{{(.a).b}}", "{{ nil }}",
		"{{ break }}"} {
		f.Add(text, "{{ .a }}")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		got, err := render(text, "None", value)
		if err != nil {
			return
		}
		// An accepted template produces at most a fixed multiple of its input.
		if most := (len(text) + 1) * (6*len(value) + 8); len(got) > most {
			t.Errorf("%d bytes of %d and %d", len(got), len(text), len(value))
		}
		if unescaped, err := render("{{ .a }}", "None", value); err == nil && unescaped != value {
			t.Errorf("%q became %q", value, unescaped)
		}
	})
}

// TestRejectsSecretsAboveOneMebibyte: the maximum size of a Secret is one mebibyte.
func TestRejectsSecretsAboveOneMebibyte(t *testing.T) {
	for size, ok := range map[int]bool{1 << 20: true, 1<<20 + 1: false} {
		if got, err := render("{{ .a }}", "", strings.Repeat("x", size)); (err == nil) != ok || ok && len(got) != size {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
