package oslo

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/ini.v1"
)

// File is the parsed content of a file: group → option → values, with one value for each time that the option is written.
// Quotes are removed; `$` is kept as in the file.
type File map[string]map[string][]string

// Parse parses the output of Render. It returns an error for a line that is neither a group, an option, a comment nor
// empty. It does not support continuation lines, which Render never writes.
func Parse(text string) (File, error) {
	in, err := ini.LoadSources(ini.LoadOptions{
		AllowShadows:               true,
		AllowDuplicateShadowValues: true,
		IgnoreContinuation:         true,
		IgnoreInlineComment:        true,
		PreserveSurroundedQuote:    true, // oslo.config also removes inner quotes.
	}, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("cannot parse the configuration file: %w", err)
	}
	file := File{}
	for _, section := range in.Sections() {
		for _, key := range section.Keys() {
			if file[section.Name()] == nil {
				file[section.Name()] = map[string][]string{}
			}
			values := key.ValueWithShadows()
			if len(values) == 0 { // The option is written without a value.
				values = []string{""}
			}
			for i := range values {
				values[i] = unquote(values[i])
			}
			file[section.Name()][key.Name()] = values
		}
	}
	return file, nil
}

// write returns the text of the file.
func (f File) write() string {
	groups := slices.Sorted(maps.Keys(f))
	if i := slices.Index(groups, DefaultGroup); i > 0 {
		groups = slices.Insert(slices.Delete(groups, i, i+1), 0, DefaultGroup)
	}
	var out strings.Builder
	for i, group := range groups {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "[%s]\n", group)
		for _, option := range slices.Sorted(maps.Keys(f[group])) {
			for _, value := range f[group][option] {
				fmt.Fprintf(&out, "%s = %s\n", option, quote(value))
			}
		}
	}
	return out.String()
}

// verify parses the text again and compares the result, so that no value can become an option or a group. It is a second
// safeguard, in addition to the checks of names and values, and uses an independent parser.
func verify(text string, want File) error {
	got, err := Parse(text)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return errors.New("the configuration file differs from its options: this is a bug, please report it")
	}
	return nil
}
