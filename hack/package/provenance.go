package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
)

const (
	// provenanceFile is the name of the provenance in the files of a release.
	provenanceFile = "provenance.json"
	// buildType is the address of the description of the fields in a provenance.
	buildType = homepage + "/blob/main/docs/how-to/verify-packages.md#provenance"
	// localBuilder is the builder of a build that no workflow started.
	localBuilder = homepage + "/tree/main/hack/package"
)

// predicate describes how the artifacts were built: https://slsa.dev/spec/v1.0/provenance. It is the same for all artifacts of a release:
// cosign adds the digest of each artifact and signs both.
type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []resource        `json:"resolvedDependencies"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder  builderID         `json:"builder"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type builderID struct {
	ID string `json:"id"`
}

// provenance returns the predicate of a build. getenv returns the variables of a GitHub workflow, or empty texts.
func (b builder) provenance(getenv func(string) string) ([]byte, error) {
	p := predicate{
		BuildDefinition: buildDefinition{
			BuildType:          buildType,
			ExternalParameters: map[string]string{"registry": b.registry, "version": b.source.version},
			ResolvedDependencies: []resource{
				{URI: "git+" + homepage, Digest: map[string]string{"gitCommit": b.source.revision}},
				{URI: "pkg:generic/go@" + strings.TrimPrefix(runtime.Version(), "go")},
			},
		},
		RunDetails: runDetails{Builder: builderID{ID: localBuilder}},
	}
	if workflow := getenv("GITHUB_WORKFLOW_REF"); workflow != "" {
		server := getenv("GITHUB_SERVER_URL") + "/"
		p.RunDetails.Builder.ID = server + workflow
		run := "/actions/runs/" + getenv("GITHUB_RUN_ID") + "/attempts/" + getenv("GITHUB_RUN_ATTEMPT")
		p.RunDetails.Metadata = map[string]string{"invocationId": server + getenv("GITHUB_REPOSITORY") + run}
		p.BuildDefinition.ResolvedDependencies[0].URI += "@" + getenv("GITHUB_REF")
	}
	return encode(p)
}

// encode writes indented JSON that leaves & alone.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
