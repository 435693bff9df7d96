package platform_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

func TestRead(t *testing.T) {
	config := func(spec map[string]any) []*structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{"spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		return []*structpb.Struct{s}
	}
	for _, tc := range []struct {
		reason   string
		required map[string][]*structpb.Struct
		want     *platformv1.PlatformConfigSpec
		err      string
	}{
		{"It is asked for by its name.", map[string][]*structpb.Struct{"platform": config(map[string]any{"domain": "example.com"})},
			&platformv1.PlatformConfigSpec{Domain: "example.com"}, ""},
		{"Crossplane answers with nothing where there is none.", map[string][]*structpb.Struct{"platform": nil}, nil, "no PlatformConfig named default"},
		{"Nothing was asked for.", nil, nil, "no PlatformConfig named default"},
		{"One of another version is not guessed at.", map[string][]*structpb.Struct{"platform": config(map[string]any{"limits": "none"})},
			nil, "cannot read the PlatformConfig"},
	} {
		got, err := platform.Read(tc.required)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
		}
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s got error %v, want %q", tc.reason, err, tc.err)
		}
	}
}
