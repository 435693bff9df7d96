package serveroption_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/serveroption"
)

var table = serveroption.Table{
	Options: map[string]serveroption.Option{
		"threads": serveroption.Number{Min: 1, Max: 64},
		"buffer":  serveroption.Size{Min: 1 << 10, Max: 3 << 29},
		"method":  serveroption.Choice{"fsync", "O_DIRECT"},
		"log":     serveroption.Switch{Off: "OFF", On: "ON"},
	},
	Rejected: map[string]string{"connections": "it follows the memory; set resources.limits.memory"},
}

func TestFormat(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, option, value, want, wantErr string
	}{
		"number":            {"Servers read decimal numbers.", "threads", "64", "64", ""},
		"number as text":    {"YAML with quotes is the same number.", "threads", `"8"`, "8", ""},
		"least":             {"Bounds belong to the range.", "threads", "1", "1", ""},
		"too few":           {"The server refuses to start.", "threads", "0", "", "must be a whole number from 1 to 64"},
		"too many":          {"The server refuses to start.", "threads", "65", "", "must be a whole number from 1 to 64"},
		"fraction":          {"Threads are whole.", "threads", "1.5", "", "must be a whole number from 1 to 64"},
		"exponent":          {"A server does not read it.", "threads", "1e1", "", "must be a whole number from 1 to 64"},
		"injection":         {"A line break would begin another option.", "threads", `"8\nskip-grant-tables"`, "", "must be a whole number from 1 to 64"},
		"bytes":             {"Without a suffix they are bytes.", "buffer", "2048", "2048", ""},
		"suffix":            {"Suffixes are powers of 1,024.", "buffer", `"64M"`, "67108864", ""},
		"largest":           {"The bound itself is allowed.", "buffer", "1610612736", "1610612736", ""},
		"beyond the bound":  {"1.5G is the most.", "buffer", `"2G"`, "", "must be a number of bytes from 1K to 1536M; K, M and G are accepted: 64M"},
		"overflow":          {"A product that overflows is beyond the bound.", "buffer", `"9223372036854775807G"`, "", "must be a number of bytes from 1K to 1536M"},
		"below the bound":   {"The server would round up.", "buffer", `"0K"`, "", "must be a number of bytes from 1K to 1536M"},
		"other suffix":      {"Kubernetes' suffixes are not the server's.", "buffer", `"64Mi"`, "", "must be a number of bytes"},
		"two suffixes":      {"One suffix is a unit.", "buffer", `"1KK"`, "", "must be a number of bytes"},
		"suffix alone":      {"A number is required.", "buffer", `"M"`, "", "must be a number of bytes"},
		"word":              {"It is one of the list.", "method", "\"O_DIRECT\"", "O_DIRECT", ""},
		"other word":        {"nosync loses data.", "method", "\"nosync\"", "", "must be one of fsync, O_DIRECT"},
		"number for a word": {"No number is in the list.", "method", "1", "", "must be one of fsync, O_DIRECT"},
		"true":              {"A boolean has the server's word.", "log", "true", "ON", ""},
		"false":             {"A boolean has the server's word.", "log", "false", "OFF", ""},
		"the word itself":   {"Documentation of the server has the word.", "log", `"ON"`, "ON", ""},
		"other boolean":     {"yes is a text.", "log", `"yes"`, "", "must be true or false"},
		"list":              {"No option has several values.", "threads", "[1]", "", "must be a string or a number"},
		"null":              {"No value is not the default.", "log", "null", "", "must be true or false"},
		"broken":            {"A value that is no JSON has a message, too.", "log", "{", "", "must be a string, a number or a boolean"},
		"derived":           {"The remedy is another field.", "connections", "5", "", "cannot be set: it follows the memory; set resources.limits.memory"},
		"misspelled":        {"The nearest name is proposed.", "thread", "5", "", "is not an option that a claim can set; did you mean threads?"},
		"unknown":           {"The page has the list.", "skip_grant_tables", "true", "", "is not an option that a claim can set; remove it, or choose one of docs/reference/server-options.md"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := table.Format(common.Options{tc.option: apiextensionsv1.JSON{Raw: []byte(tc.value)}}, "spec.config")
			if diff := cmp.Diff(tc.want, string(got[tc.option])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.wantErr == "" {
				if err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			var spec *invalid.Spec
			if !errors.As(err, &spec) || spec.Field != "spec.config."+tc.option || len(spec.Sentence) < len(tc.wantErr) || spec.Sentence[:len(tc.wantErr)] != tc.wantErr {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestFormatReportsEveryWrongOption(t *testing.T) {
	options := common.Options{"threads": {Raw: []byte("0")}, "log": {Raw: []byte("2")}, "method": {Raw: []byte(`"fsync"`)}}
	got, err := table.Format(options, "spec.config")
	const want = "spec.config.log: must be true or false\nspec.config.threads: must be a whole number from 1 to 64"
	if got != nil || err == nil || err.Error() != want {
		t.Errorf("got %v and %v, want no options and:\n%s", got, err, want)
	}
	if got, err := table.Format(nil, "spec.config"); got != nil || err != nil {
		t.Errorf("no options are %v and %v", got, err)
	}
}
