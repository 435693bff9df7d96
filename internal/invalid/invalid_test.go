package invalid_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

func TestField(t *testing.T) {
	err := invalid.Field("spec.size", "%q is not a size; choose one of %s", "huge", "small, large")
	if got, want := err.Error(), `spec.size: "huge" is not a size; choose one of small, large`; got != want {
		t.Errorf("Field(...) = %s, want %s", got, want)
	}
}

func TestIs(t *testing.T) {
	specError := invalid.Field("spec", "it is wrong")
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nothing": {reason: "No error.", err: nil, want: false},
		"Ours":    {reason: "A tenant cannot fix it.", err: errors.New("broken"), want: false},
		"Spec":    {reason: "The tenant can.", err: specError, want: true},
		"Wrapped": {reason: "Wrapping adds words only.", err: fmt.Errorf("cannot continue: %w", specError), want: true},
		"Joined":  {reason: "One that the tenant can fix is enough.", err: errors.Join(errors.New("broken"), specError), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := invalid.Is(tc.err); got != tc.want {
				t.Errorf("%s\nIs(%v) = %t, want %t", tc.reason, tc.err, got, tc.want)
			}
		})
	}
}

func TestPath(t *testing.T) {
	if got, want := invalid.Path("spec", "config", "token"), "spec.config.token"; got != want {
		t.Errorf("Path(...) = %s, want %s", got, want)
	}
}

func TestDistinct(t *testing.T) {
	a, b := invalid.Field("spec.a", "it is wrong"), invalid.Field("spec.b", "it is wrong")
	for name, tc := range map[string]struct {
		errs []error
		want string
	}{
		"the same text twice":      {errs: []error{a, invalid.Field("spec.a", "it is wrong")}, want: a.Error()},
		"the same in a joined one": {errs: []error{errors.Join(a, b), nil, b}, want: a.Error() + "\n" + b.Error()},
		"two fields":               {errs: []error{b, a}, want: b.Error() + "\n" + a.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := invalid.Distinct(tc.errs...); got == nil || got.Error() != tc.want || !invalid.Is(got) {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
	if err := invalid.Distinct(nil, errors.Join()); err != nil {
		t.Errorf("no errors are %v", err)
	}
}
