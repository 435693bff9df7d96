package oslo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// nasty generates texts from tokens with a meaning for parsers.
func nasty() *rapid.Generator[string] {
	token := rapid.OneOf(
		rapid.SampledFrom([]string{
			`"`, `'`, "`", `"""`, `$`, `$$`, `\`, `\$`, `\\$`, `=`, `:`, `#`, `;`, `[`, `]`, `,`, ` `, `  `, `%`, `%(a)s`, `$(A)`, `${a}`, `$a`, `$a.b`, `${`,
			"[DEFAULT]", "x = 1", "\u00a0", "\u3000", "\u2028", "\u2029", "\ufeff", "é", "日本", "🐘", "a", "true", "0", "-", `\n`, "@", "<None>",
		}),
		rapid.StringMatching(`[ -~]{0,6}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(token, 0, 8).Draw(t, "tokens"), "")
	})
}

// item generates texts that a list can contain.
func item() *rapid.Generator[string] {
	return rapid.Map(nasty(), func(s string) string {
		if s = strings.TrimSpace(strings.ReplaceAll(s, ",", "_")); s == "" {
			return "x"
		}
		return s
	})
}

// value generates values of all types but Template.
func value() *rapid.Generator[any] {
	return rapid.OneOf(
		nasty().AsAny(), nasty().AsAny(), nasty().AsAny(),
		rapid.SliceOfN(item(), 0, 4).AsAny(),
		rapid.Map(rapid.SliceOfN(nasty(), 1, 4), func(s []string) oslo.Multi { return s }).AsAny(),
		rapid.Bool().AsAny(),
		rapid.Int64Range(-1<<53, 1<<53).AsAny(),
		rapid.Float64Range(-10, 10).AsAny(),
	)
}

func config() *rapid.Generator[oslo.Config] {
	group := rapid.StringMatching(`DEFAULT|[a-z_][a-z0-9_.:-]{0,8}`).Filter(func(s string) bool { return s != "default" })
	option := rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}`)
	options := rapid.Map(rapid.MapOfN(option, value(), 1, 6), func(m map[string]any) oslo.Options { return m })
	return rapid.Map(rapid.MapOfN(group, options, 0, 6), func(m map[string]oslo.Options) oslo.Config { return m })
}

// expected returns the texts that the service must read from a value.
func expected(v any) []string {
	if m, ok := v.(oslo.Multi); ok {
		return m
	}
	if l, ok := v.([]string); ok {
		return []string{strings.Join(l, ",")}
	}
	if f, ok := v.(float64); ok {
		return []string{fmt.Sprint(f)}
	}
	return []string{fmt.Sprint(v)}
}

// TestRenderRoundTrip checks that another parser reads the same groups, options and values from a rendered file.
func TestRenderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config().Draw(t, "config")
		text, err := c.Render()
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		want := map[string]map[string][]string{}
		for group, options := range c {
			want[group] = map[string][]string{}
			for option, v := range options {
				want[group][option] = expected(v)
				if l, ok := v.([]string); ok {
					if diff := cmp.Diff(l, split(got[group][option][0])); diff != "" {
						t.Fatalf("[%s] %s: -want +got:\n%s", group, option, diff)
					}
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s\n%s", diff, text)
		}
	})
}

// TestMergePrefersLastLayer checks that an option has the value of the last layer that sets it.
func TestMergePrefersLastLayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.SliceOfN(config(), 1, 4).Draw(t, "layers")
		before := fmt.Sprint(layers)
		got := layers[0].Merge(layers[1:]...)
		if fmt.Sprint(layers) != before {
			t.Fatal("a layer has changed")
		}
		want := oslo.Config{}
		for _, layer := range layers {
			for group, options := range layer {
				for option, v := range options {
					if want[group] == nil {
						want[group] = oslo.Options{}
					}
					want[group][option] = v
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// TestEnvValueRoundTrip checks that expansion by Kubernetes and substitution by oslo.config result in the original text.
func TestEnvValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := nasty().Draw(t, "text")
		if got := substitute(kubernetes(oslo.EnvValue(want))); got != want {
			t.Fatalf("the service sees %q, want %q", got, want)
		}
	})
}

// TestReplacedPlaceholderIsReadExactly checks that the service reads a text exactly that replaces a placeholder in a rendered file.
func TestReplacedPlaceholderIsReadExactly(t *testing.T) {
	const placeholder = "{{ .password }}"
	file, err := one(oslo.Template(placeholder)).Render()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := nasty().Draw(t, "password")
		value, err := oslo.Value(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(strings.ReplaceAll(file, placeholder, value))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]map[string][]string{"g": {"o": {want}}}, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
	for _, broken := range []string{"secret\n", "a\nadmin_token = x", "a\rb", "\xff"} {
		if got, err := oslo.Value(broken); err == nil || got != "" {
			t.Errorf("Value(%q) gives %q, want an error", broken, got)
		}
	}
}

// FuzzRender checks that any names and any value result in one option of one group, or in an error.
func FuzzRender(f *testing.F) {
	f.Add("g", "o", "a")
	f.Add("g", "o", "a\n[DEFAULT]\nadmin_token = x")
	f.Add("g]\n[h", "o", "\"\"\"")
	f.Add("DEFAULT", "o\n", " \\$`'\"")
	f.Add("g", "o", "\u0085\u2028")
	f.Fuzz(func(t *testing.T, group, option, value string) {
		for _, c := range []oslo.Config{
			{group: {option: value}},
			{group: {option: oslo.Multi{value}}},
			{group: {option: []string{value}}},
			{group: {option: oslo.Template(value)}},
		} {
			text, err := c.Render()
			if err != nil {
				continue
			}
			got, err := read(text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			want := value
			if _, ok := c[group][option].(oslo.Template); ok {
				want = substitute(value)
			}
			if diff := cmp.Diff(map[string]map[string][]string{group: {option: {want}}}, got); diff != "" {
				t.Fatalf("-want +got:\n%s\n%s", diff, text)
			}
		}
	})
}

// FuzzParse checks that malformed files result in an error.
func FuzzParse(f *testing.F) {
	f.Add("[g]\no = \"\"\"a\n")
	f.Add("\ufeff[g]\no = `\n\n-=\n- = 1\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = oslo.Parse(text) })
}

// FuzzFromSpec checks that all accepted specs can be rendered.
func FuzzFromSpec(f *testing.F) {
	for _, s := range []string{`"a"`, `["a", 1, true]`, `1e400`, `{"a": null}`, `"\ud800"`, `-0.0`, ``} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, multi bool) {
		c, err := oslo.FromSpec("spec", written(string(raw)), func(string, string) bool { return multi })
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is not JSON", raw)
		}
		if _, err := c.Render(); err != nil {
			t.Fatal(err)
		}
	})
}
