package cluster

import (
	"encoding/base64"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// APIHost is the name of the API server for pods.
const APIHost = "kubernetes.default.svc"

// rootAuthority is the ConfigMap with the authority of the API server, which each namespace has.
const rootAuthority = "kube-root-ca.crt"

// Creator is the holder of a token: the service account of a pod, and the node of the pod.
type Creator struct{ Namespace, ServiceAccount, Node string }

// tokenOf returns the token of a pod. It is not signed: pods here are trusted.
func tokenOf(p *corev1.Pod) []byte {
	creator := strings.Join([]string{p.Namespace, p.Spec.ServiceAccountName, p.Spec.NodeName}, " ")
	return []byte(base64.RawURLEncoding.EncodeToString([]byte(creator)))
}

// CreatorOf returns the holder of a token.
func CreatorOf(token string) (Creator, bool) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(data), " ")
	if err != nil || len(parts) != 3 {
		return Creator{}, false
	}
	return Creator{Namespace: parts[0], ServiceAccount: parts[1], Node: parts[2]}, true
}
