package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sigstore is an instance of Sigstore in the process of the test: an authority that issues a certificate for each identity token (Fulcio),
// and a log of signatures (Rekor). Its trusted certificates and keys are files of a folder.
type sigstore struct {
	url, trust string
	authority  *x509.Certificate
	key, log   *ecdsa.PrivateKey
	entries    int
}

// newSigstore starts an instance until the end of the test.
func newSigstore(t *testing.T) *sigstore {
	t.Helper()
	s := &sigstore{trust: t.TempDir(), key: newKey(t), log: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	if s.authority, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{
		"fulcio.crt.pem": encodePEM("CERTIFICATE", der),
		"rekor.pub":      publicPEM(t, s.log),
		"ctfe.pub":       publicPEM(t, newKey(t)),
	} {
		if err := os.WriteFile(filepath.Join(s.trust, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/signingCert", func(w http.ResponseWriter, r *http.Request) { s.certificate(t, w, r) })
	mux.HandleFunc("POST /api/v1/log/entries", func(w http.ResponseWriter, r *http.Request) { s.entry(t, w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// flags are the flags of cosign that sign for an identity with this instance.
func (s *sigstore) flags(identity string) []string {
	encode := func(part string) string { return base64.RawURLEncoding.EncodeToString([]byte(part)) }
	claims := fmt.Sprintf(`{"iss": %q, "sub": %q, "aud": "sigstore", "exp": %d}`, workflowIssuer, identity, time.Now().Add(time.Hour).Unix())
	token := encode(`{"alg":"RS256"}`) + "." + encode(claims) + "." + encode("unsigned")
	return []string{"--fulcio-url=" + s.url, "--rekor-url=" + s.url, "--identity-token=" + token, "--insecure-skip-verify"}
}

// certificate issues a certificate for the identity in a token.
func (s *sigstore) certificate(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	request := struct {
		PublicKey struct {
			Content []byte `json:"content"`
		} `json:"publicKey"`
	}{}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		t.Error(err)
		return
	}
	block, _ := pem.Decode(request.PublicKey.Content)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Error(err)
		return
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(r.Header.Get("Authorization"), ".")[1])
	if err != nil {
		t.Error(err)
		return
	}
	claims := struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Error(err)
		return
	}
	subject, err := url.Parse(claims.Subject)
	if err != nil {
		t.Error(err)
		return
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(10 * time.Minute), URIs: []*url.URL{subject},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(claims.Issuer)}},
	}, s.authority, key, s.key)
	if err != nil {
		t.Error(err)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(append(encodePEM("CERTIFICATE", der), encodePEM("CERTIFICATE", s.authority.Raw)...))
}

// entry logs a signature: the entry of an image's signature is the request, and the entry of an attestation contains the hashes of its
// envelope.
func (s *sigstore) entry(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	entry := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&entry); err != nil {
		t.Error(err)
		return
	}
	if entry["kind"] == "dsse" {
		proposed := entry["spec"].(map[string]any)["proposedContent"].(map[string]any)
		text := proposed["envelope"].(string)
		envelope := struct {
			Payload    []byte `json:"payload"`
			Signatures []struct {
				Signature string `json:"sig"`
			} `json:"signatures"`
		}{}
		if err := json.Unmarshal([]byte(text), &envelope); err != nil {
			t.Error(err)
			return
		}
		entry["spec"] = map[string]any{
			"envelopeHash": hashOf([]byte(text)),
			"payloadHash":  hashOf(envelope.Payload),
			"signatures": []any{map[string]any{
				"signature": envelope.Signatures[0].Signature,
				"verifier":  proposed["verifiers"].([]any)[0],
			}},
		}
	}
	body, err := json.Marshal(entry)
	if err != nil {
		t.Error(err)
		return
	}
	der, err := x509.MarshalPKIXPublicKey(s.log.Public())
	if err != nil {
		t.Error(err)
		return
	}
	id := sha256.Sum256(der)
	logged := map[string]any{
		"body": base64.StdEncoding.EncodeToString(body), "integratedTime": time.Now().Unix(), "logIndex": s.entries, "logID": hex.EncodeToString(id[:]),
	}
	s.entries++
	canonical, err := json.Marshal(logged)
	if err != nil {
		t.Error(err)
		return
	}
	leaf := sha256.Sum256(append([]byte{0}, body...)) // The tree of the proof has one leaf. Its name ends in a number, as in version 1 of Rekor.
	note := "test - 1\n1\n" + base64.StdEncoding.EncodeToString(leaf[:]) + "\n"
	logged["verification"] = map[string]any{
		"signedEntryTimestamp": s.signed(t, canonical),
		"inclusionProof": map[string]any{
			"hashes": []string{}, "logIndex": 0, "rootHash": hex.EncodeToString(leaf[:]), "treeSize": 1,
			"checkpoint": note + "\n— test " + base64.StdEncoding.EncodeToString(append(id[:4:4], s.signed(t, []byte(note))...)) + "\n",
		},
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/api/v1/log/entries/"+hex.EncodeToString(leaf[:]))
	w.WriteHeader(http.StatusCreated)
	if err := json.NewEncoder(w).Encode(map[string]any{hex.EncodeToString(leaf[:]): logged}); err != nil {
		t.Error(err)
	}
}

// signed signs data with the key of the log.
func (s *sigstore) signed(t *testing.T, data []byte) []byte {
	t.Helper()
	hash := sha256.Sum256(data)
	signature, err := ecdsa.SignASN1(rand.Reader, s.log, hash[:])
	if err != nil {
		t.Error(err)
	}
	return signature
}

func hashOf(data []byte) map[string]string {
	hash := sha256.Sum256(data)
	return map[string]string{"algorithm": "sha256", "value": hex.EncodeToString(hash[:])}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM("PUBLIC KEY", der)
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
