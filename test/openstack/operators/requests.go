//go:build linux

package operators

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
)

// requestsPath is the path of CertificateSigningRequests in the API.
const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// serveRequests serves the part of the API that pods use: they create CertificateSigningRequests and read them. Like an API server, it
// records the creator and the node of the creator's pod.
func (o *Operators) serveRequests() error {
	o.Cluster.RootAuthority = o.Public.Certificate
	return o.HTTPS(cluster.APIHost, func(w http.ResponseWriter, request *http.Request) {
		code, r := o.certificateRequest(request)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(r)
	})
}

func (o *Operators) certificateRequest(request *http.Request) (code int, out any) {
	refuse := func(code int, message string) (int, any) {
		return code, metav1.Status{Status: metav1.StatusFailure, Message: message}
	}
	creator, ok := cluster.CreatorOf(strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "))
	name, found := strings.CutPrefix(request.URL.Path, requestsPath)
	r := &certificatesv1.CertificateSigningRequest{}
	switch {
	case !ok:
		return refuse(http.StatusUnauthorized, "the token is not one of a pod")
	case !found:
		return refuse(http.StatusNotFound, "not found")
	case request.Method == http.MethodGet:
		if err := o.Cluster.Client.Get(request.Context(), client.ObjectKey{Name: strings.TrimPrefix(name, "/")}, r); err != nil {
			return refuse(http.StatusNotFound, err.Error())
		}
		return http.StatusOK, r
	case request.Method != http.MethodPost:
		return refuse(http.StatusMethodNotAllowed, "not allowed")
	}
	if err := json.NewDecoder(request.Body).Decode(r); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	r.Spec.Username = "system:serviceaccount:" + creator.Namespace + ":" + creator.ServiceAccount
	r.Spec.Extra = map[string]certificatesv1.ExtraValue{"authentication.kubernetes.io/node-name": {creator.Node}}
	r.Status = certificatesv1.CertificateSigningRequestStatus{}
	if err := o.Cluster.Client.Create(request.Context(), r); err != nil {
		return refuse(http.StatusConflict, err.Error())
	}
	return http.StatusCreated, r
}

// nodeIssuer serves requests, and waits until the companion can sign them.
func (o *Operators) nodeIssuer(ctx context.Context, u *unstructured.Unstructured) error {
	if o.requests.Do(func() { o.requestsErr = o.serveRequests() }); o.requestsErr != nil {
		return o.requestsErr
	}
	i := &c5c3v1.NodeIssuer{}
	return o.available(ctx, u, i, "Ready", func() []metav1.Condition { return i.Status.Conditions })
}
