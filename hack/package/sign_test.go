package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The real cosign, and Crossplane's verification. Building them takes minutes, so only `make test-package` sets them.
var (
	cosign            = os.Getenv("COSIGN")
	imageVerification = os.Getenv("IMAGE_VERIFICATION")
)

// The identity of the release workflow.
const (
	workflowIssuer   = "https://token.actions.githubusercontent.com"
	workflowIdentity = homepage + "/.github/workflows/release.yaml@refs/tags/v0.3.0"
)

// signedRegistry builds a release, and pushes it to a registry of the test.
type signedRegistry struct {
	host, folder string
	release      release
}

func newSignedRegistry(t *testing.T) signedRegistry {
	t.Helper()
	if cosign == "" || imageVerification == "" {
		t.Skip("run by `make test-package`, which builds cosign and Crossplane's verification first")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	r := signedRegistry{host: strings.TrimPrefix(server.URL, "http://") + "/c5c3", folder: filepath.Join(t.TempDir(), "packages")}
	src, err := findSource(t.Context(), checkout(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if r.release, err = (builder{source: src, registry: r.host, programs: programs}).build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := write(r.folder, r.release); err != nil {
		t.Fatal(err)
	}
	if err := r.release.push(r.host); err != nil {
		t.Fatal(err)
	}
	return r
}

// changed pushes another image under the tag of an artifact, with the signatures and attestations of the original.
func (r signedRegistry) changed(t *testing.T, ref string) {
	t.Helper()
	tag, err := name.NewTag(r.host + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	original, err := remote.Image(tag)
	if err != nil {
		t.Fatal(err)
	}
	before, err := original.Digest()
	if err != nil {
		t.Fatal(err)
	}
	image := mutate.Annotations(original, map[string]string{"changed": "true"}).(v1.Image)
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	after, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".sig", ".att"} {
		copied, err := remote.Image(tag.Context().Tag("sha256-" + before.Hex + suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(tag.Context().Tag("sha256-"+after.Hex+suffix), copied); err != nil {
			t.Fatal(err)
		}
	}
	subject, err := remote.Head(tag)
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := remote.Referrers(tag.Context().Digest(before.String()))
	if err != nil {
		t.Fatal(err)
	}
	index, err := referrers.IndexManifest()
	if err != nil || len(index.Manifests) == 0 {
		t.Fatalf("there are no bundles: %v", err)
	}
	for _, m := range index.Manifests {
		bundle, err := remote.Image(tag.Context().Digest(m.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		moved := mutate.Subject(bundle, *subject).(v1.Image)
		digest, err := moved.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(tag.Context().Digest(digest.String()), moved); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome runs a program, and returns its output, and its error with a text.
func outcome(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command(program, args...)
	cmd.Stderr = &out
	stdout, err := cmd.Output()
	if err != nil {
		t.Logf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out.String())
	}
	return string(stdout), err
}

// keys writes a pair of keys, and returns their paths.
func keys(t *testing.T) (private, public string) {
	t.Helper()
	t.Setenv("COSIGN_PASSWORD", "test")
	folder := t.TempDir()
	cmd := exec.Command(cosign, "generate-key-pair")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "cosign.key"), filepath.Join(folder, "cosign.pub")
}

// TestSignedWithKey signs a release with a key, without any other service, and verifies it in both formats with the real cosign.
func TestSignedWithKey(t *testing.T) {
	r := newSignedRegistry(t)
	private, public := keys(t)
	_, other := keys(t)
	s := signer{program: cosign, key: private, flags: []string{"--tlog-upload=false"}}
	if err := s.sign(t.Context(), r.host, r.folder, r.release); err != nil {
		t.Fatal(err)
	}
	verify := func(key string, args ...string) (string, error) {
		return outcome(t, cosign, append([]string{args[0], "--key=" + key, "--insecure-ignore-tlog=true"}, args[1:]...)...)
	}
	for _, format := range []string{"--new-bundle-format=false", "--new-bundle-format=true"} {
		for _, a := range r.release.artifacts {
			ref := r.host + "/" + a.repository + ":" + a.tag
			if _, err := verify(public, "verify", format, ref); err != nil {
				t.Errorf("%s of %s: %v", format, a.repository, err)
			}
			checkPredicates(t, a, func(predicate string) string {
				out, err := verify(public, "verify-attestation", format, "--type="+predicate, ref)
				if err != nil {
					t.Errorf("%s of %s: %s: %v", format, a.repository, predicate, err)
				}
				return out
			})
		}
		configuration := r.host + "/configuration-cobaltcore:v0.3.0"
		if _, err := verify(other, "verify", format, configuration); err == nil {
			t.Errorf("%s: a signature of another key is accepted", format)
		}
		if _, err := verify(other, "verify-attestation", format, "--type=slsaprovenance1", configuration); err == nil {
			t.Errorf("%s: an attestation of another key is accepted", format)
		}
		if _, err := verify(public, "verify-attestation", format, "--type=spdxjson", configuration); err == nil {
			t.Errorf("%s: an attestation that does not exist is accepted", format)
		}
	}
	r.changed(t, "configuration-cobaltcore:v0.3.0")
	for _, format := range []string{"--new-bundle-format=false", "--new-bundle-format=true"} {
		if _, err := verify(public, "verify", format, r.host+"/configuration-cobaltcore:v0.3.0"); err == nil {
			t.Errorf("%s: a changed package is accepted", format)
		}
		if _, err := verify(public, "verify-attestation", format, "--type=slsaprovenance1", r.host+"/configuration-cobaltcore:v0.3.0"); err == nil {
			t.Errorf("%s: the attestation of another digest is accepted", format)
		}
	}
}

// TestRehearsalRequiresBillOfMaterials rehearses the release of one artifact, and of one without its bill of materials.
func TestRehearsalRequiresBillOfMaterials(t *testing.T) {
	r := newSignedRegistry(t)
	for _, a := range r.release.artifacts {
		if a.repository != configurationName {
			continue
		}
		if err := rehearse(t.Context(), cosign, r.folder, release{artifacts: []artifact{a}}); err != nil {
			t.Error(err)
		}
		a.bills = nil
		err := rehearse(t.Context(), cosign, r.folder, release{artifacts: []artifact{a}})
		if err == nil || !strings.Contains(err.Error(), "cannot verify configuration-cobaltcore:v0.3.0") {
			t.Errorf("want an error for an artifact without a bill of materials, got: %v", err)
		}
	}
}

// checkPredicates checks the verified attestations of an artifact: the provenance, and a bill of materials for each architecture.
func checkPredicates(t *testing.T, a artifact, attested func(predicate string) string) {
	t.Helper()
	digest, err := a.appendable().Digest()
	if err != nil {
		t.Fatal(err)
	}
	for predicate, count := range map[string]int{"slsaprovenance1": 1, "cyclonedx": len(a.bills)} {
		statements := map[string]statement{}
		for line := range strings.Lines(attested(predicate)) {
			envelope := struct {
				Payload []byte `json:"payload"`
			}{}
			if err := json.Unmarshal([]byte(line), &envelope); err != nil {
				t.Fatal(err)
			}
			s := statement{}
			if err := json.Unmarshal(envelope.Payload, &s); err != nil {
				t.Fatal(err)
			}
			statements[string(envelope.Payload)] = s
		}
		if len(statements) != count {
			t.Errorf("%s of %s: want %d attestations, got %d", predicate, a.repository, count, len(statements))
		}
		for _, s := range statements {
			if s.Subject[0].Digest["sha256"] != digest.Hex {
				t.Errorf("%s of %s is about %v", predicate, a.repository, s.Subject)
			}
			if predicate == "cyclonedx" && s.Predicate.Metadata.Component.Version != "0.3.0" {
				t.Errorf("the bill of materials of %s is about another version: %+v", a.repository, s.Predicate)
			}
			if predicate == "slsaprovenance1" && len(s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]) != 40 {
				t.Errorf("the provenance of %s has no commit: %+v", a.repository, s.Predicate)
			}
		}
	}
}

// statement is the part of an in-toto statement that is checked.
type statement struct {
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	Predicate struct {
		predicate

		Metadata struct {
			Component struct {
				Version string `json:"version"`
			} `json:"component"`
		} `json:"metadata"`
	} `json:"predicate"`
}

// TestSignedByWorkflow signs packages as the release workflow does, and verifies them with Crossplane's own code and the ImageConfig of the
// documentation, and with cosign.
func TestSignedByWorkflow(t *testing.T) {
	r := newSignedRegistry(t)
	s := newSigstore(t)
	t.Setenv("SIGSTORE_CT_LOG_PUBLIC_KEY_FILE", filepath.Join(s.trust, "ctfe.pub"))
	sign := func(repository string, signer signer) {
		t.Helper()
		for _, a := range r.release.artifacts {
			if a.repository == repository {
				signer.program = cosign
				if err := signer.sign(t.Context(), r.host, r.folder, release{artifacts: []artifact{a}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	example, err := os.ReadFile(filepath.Join(repository, "examples/packages/verification.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The authority of the test has no log of certificates.
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := strings.Replace(string(example), "        keyless:\n", "        keyless:\n          insecureIgnoreSCT: true\n", 1)
	before, _, _ := strings.Cut(text, "        keyless:\n")
	withKey := strings.Replace(before, "name: release", "name: key", 1) +
		"        key: {hashAlgorithm: sha256, secretRef: {name: key, key: cosign.pub}}\n"
	for path, data := range map[string]string{config: text, config + ".key": withKey} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crossplane := func(args ...string) error {
		_, err := outcome(t, imageVerification, append([]string{s.trust}, args...)...)
		return err
	}
	configuration, function := r.host+"/configuration-cobaltcore:v0.3.0", r.host+"/function-cobaltcore:v0.3.0"

	if err := crossplane(config, function); err == nil {
		t.Error("a package without signatures is accepted")
	}
	sign("function-cobaltcore", signer{flags: s.flags(workflowIdentity)})
	if err := crossplane(config, function); err != nil {
		t.Errorf("the package of a release is refused: %v", err)
	}
	checkIdentity(t, s, function)
	sign("configuration-cobaltcore", signer{flags: s.flags(homepage + "/.github/workflows/release.yaml@refs/heads/main")})
	if err := crossplane(config, configuration); err == nil {
		t.Error("a package that was not signed for a tag is accepted")
	}
	sign("configuration-cobaltcore", signer{flags: s.flags(workflowIdentity)})
	if err := crossplane(config, configuration); err != nil {
		t.Errorf("the package of a release is refused: %v", err)
	}
	r.changed(t, "configuration-cobaltcore:v0.3.0")
	if err := crossplane(config, configuration); err == nil {
		t.Error("a changed package is accepted")
	}

	// Crossplane requires an entry in the log, also of a signature with a key.
	private, public := keys(t)
	sign("charts/crossplane-cobaltcore", signer{key: private, flags: []string{"--tlog-upload=false"}})
	chart := r.host + "/charts/crossplane-cobaltcore:0.3.0"
	if err := crossplane(config+".key", chart, public); err == nil {
		t.Error("a signature with a key is accepted without an entry in the log: update docs/how-to/verify-packages.md")
	}
	sign("charts/crossplane-cobaltcore", signer{key: private, flags: []string{"--rekor-url=" + s.url}})
	if err := crossplane(config+".key", chart, public); err != nil {
		t.Errorf("a signature with a key and an entry in the log is refused: %v", err)
	}
}

// checkIdentity verifies the bundles of an artifact with cosign, which accepts only the identity of the release workflow.
func checkIdentity(t *testing.T, s *sigstore, ref string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "trusted-root.json")
	if _, err := outcome(t, cosign, "trusted-root", "create", "--out="+root,
		"--fulcio=url="+s.url+",certificate-chain="+filepath.Join(s.trust, "fulcio.crt.pem"),
		"--rekor=url="+s.url+",public-key="+filepath.Join(s.trust, "rekor.pub")+",start-time=2020-01-01T00:00:00Z"); err != nil {
		t.Fatal(err)
	}
	for identity, want := range map[string]bool{workflowIdentity: true, homepage + "/.github/workflows/release.yaml@refs/heads/main": false} {
		for _, command := range [][]string{{"verify"}, {"verify-attestation", "--type=slsaprovenance1"}} {
			_, err := outcome(t, cosign, append(command[:len(command):len(command)], "--trusted-root="+root, "--insecure-ignore-sct=true",
				"--certificate-identity="+identity, "--certificate-oidc-issuer="+workflowIssuer, ref)...)
			if (err == nil) != want {
				t.Errorf("%s for the identity %s: want accepted %t, got: %v", command[0], identity, want, err)
			}
		}
	}
}

// TestVerificationPageMatchesTestedIdentity checks that the documentation shows the identity and the ImageConfig that the tests verify
// with.
func TestVerificationPageMatchesTestedIdentity(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs/how-to/verify-packages.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(repository, "examples/packages/verification.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(example), "\napiVersion")
	text := strings.ReplaceAll(string(page), "\n   ", "\n") // The ImageConfig is in a list.
	for _, want := range []string{
		"\nidentity=" + strings.Replace(workflowIdentity, "v0.3.0", "v0.1.0", 1) + "\n", "\nissuer=" + workflowIssuer + "\n", "\napiVersion" + config,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain:%s", want)
		}
	}
}

// TestProvenance checks the provenance of a build by a workflow, and of a local one.
func TestProvenance(t *testing.T) {
	b := builder{registry: "ghcr.io/c5c3", source: source{version: "0.3.0", revision: "abc"}}
	workflow := map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "c5c3/crossplane-cobaltcore", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2",
		"GITHUB_REF": "refs/tags/v0.3.0", "GITHUB_WORKFLOW_REF": "c5c3/crossplane-cobaltcore/.github/workflows/release.yaml@refs/tags/v0.3.0",
	}
	cases := map[string]struct {
		reason string
		env    map[string]string
		source string
		want   runDetails
	}{
		"Local": {"Without a workflow, the builder is a developer.", nil, "git+" + homepage, runDetails{Builder: builderID{localBuilder}}},
		"Workflow": {"The builder is the identity that signs.", workflow, "git+" + homepage + "@refs/tags/v0.3.0", runDetails{
			Builder:  builderID{workflowIdentity},
			Metadata: map[string]string{"invocationId": homepage + "/actions/runs/7/attempts/2"},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := b.provenance(func(name string) string { return tc.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			got := predicate{}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.RunDetails); diff != "" {
				t.Errorf("%s\n(-want, +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(resource{tc.source, map[string]string{"gitCommit": "abc"}}, got.BuildDefinition.ResolvedDependencies[0]); diff != "" {
				t.Errorf("source (-want, +got):\n%s", diff)
			}
		})
	}
}
