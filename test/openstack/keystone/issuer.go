//go:build openstack && linux

package keystone

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Issuer is an OpenID Connect provider with one client, at which every browser is logged in as carol
// (https://openid.net/specs/openid-connect-core-1_0.html, the authorization code flow).
type Issuer struct {
	url, client, Secret string
	key                 *rsa.PrivateKey

	mu     sync.Mutex
	nonces map[string]string // by code
	scopes []string          // requested scopes
	tokens map[string]string // access tokens that are valid, and the client that each was issued to
	groups string            // a claim of any size
}

// Pad increases the size of identity tokens, as for users of many groups.
func (i *Issuer) Pad(size int) {
	text := make([]byte, size*3/8) // twice as many digits, of which base64 makes a third more
	_, _ = rand.Read(text)         // never fails
	i.mu.Lock()
	defer i.mu.Unlock()
	i.groups = hex.EncodeToString(text)
}

// NewIssuer returns an OpenID Connect provider of a cloud.
func NewIssuer(url, client, secret string) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	return &Issuer{url: url, client: client, Secret: secret, key: key, nonces: map[string]string{}, tokens: map[string]string{}}, err
}

const keyID = "one"

// ServeHTTP responds as the provider.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base, err := url.Parse(i.url)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch strings.TrimPrefix(r.URL.Path, base.Path) {
	case "/.well-known/openid-configuration":
		answer(w, map[string]any{
			"issuer": i.url, "authorization_endpoint": i.url + "/auth", "token_endpoint": i.url + "/token",
			"jwks_uri": i.url + "/keys", "userinfo_endpoint": i.url + "/userinfo",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
		})
	case "/keys":
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": keyID,
			"n": encoded(i.key.N.Bytes()), "e": encoded(big.NewInt(int64(i.key.E)).Bytes()),
		}}})
	case "/auth":
		i.authorize(w, r)
	case "/token":
		i.token(w, r)
	case "/introspect":
		i.introspect(w, r)
	case "/userinfo":
		answer(w, map[string]any{"sub": "carol-id", "preferred_username": "carol", "email": "carol@example.com"})
	default:
		http.NotFound(w, r)
	}
}

// authorize redirects the browser back with a code immediately.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != i.client || q.Get("response_type") != "code" {
		http.Error(w, "not this client", http.StatusBadRequest)
		return
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.nonces[code] = q.Get("nonce")
	i.scopes = strings.Fields(q.Get("scope"))
	i.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// isValid reports whether a request has the client's secret.
func (i *Issuer) isValid(r *http.Request) bool {
	name, secret, _ := r.BasicAuth()
	name, _ = url.QueryUnescape(name)
	secret, _ = url.QueryUnescape(secret)
	return name == i.client && secret == i.Secret
}

// introspect returns the client of an access token (https://www.rfc-editor.org/rfc/rfc7662.html).
func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	if !i.isValid(r) {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	i.mu.Lock()
	client, active := i.tokens[r.FormValue("token")]
	i.mu.Unlock()
	if !active {
		answer(w, map[string]any{"active": false})
		return
	}
	answer(w, map[string]any{
		"active": true, "iss": i.url, "sub": "carol-id", "preferred_username": "carol", "client_id": client, "azp": client, "aud": "account",
		"exp": time.Now().Add(time.Hour).Unix(),
	})
}

// token exchanges a code for an identity, if the client sends its secret.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	nonce, known := i.nonces[r.FormValue("code")]
	groups := i.groups
	i.mu.Unlock()
	if !i.isValid(r) || !known {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	now := time.Now()
	identity, err := i.sign(map[string]any{
		"iss": i.url, "aud": i.client, "sub": "carol-id", "nonce": nonce, "preferred_username": "carol", "groups": groups,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": identity})
}

// sign creates a JSON Web Token.
func (i *Issuer) sign(claims map[string]any) (string, error) {
	var parts []string
	for _, part := range []map[string]any{{"alg": "RS256", "typ": "JWT", "kid": keyID}, claims} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, encoded(text))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, ".")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	return strings.Join(append(parts, encoded(signature)), "."), err
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(fmt.Sprint("cannot answer: ", err))
	}
}
