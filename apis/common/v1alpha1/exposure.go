package v1alpha1

// Exposure configures the external access to APIs.
// +kubebuilder:validation:XValidation:rule="self.type != 'GatewayAPI' || has(self.gateway)",message="exposure of type GatewayAPI requires gateway.name and gateway.namespace"
// +kubebuilder:validation:XValidation:rule="self.type != 'Ingress' || !has(self.routing) || self.routing == 'Hostnames'",message="routing Paths requires type GatewayAPI, because Ingress has no portable field to rewrite paths; use routing Hostnames"
type Exposure struct {
	// None: only inside the cluster. GatewayAPI: HTTPRoutes at a Gateway. Ingress: Ingress objects.
	// +kubebuilder:validation:Enum=None;GatewayAPI;Ingress
	Type string `json:"type"`
	// Hostnames gives each service a host name (keystone.<domain>), Paths a path at one host name (<domain>/identity).
	// +kubebuilder:validation:Enum=Hostnames;Paths
	// +optional
	Routing string `json:"routing,omitempty"`
	// Gateway that routes attach to.
	// +optional
	Gateway *Gateway `json:"gateway,omitempty"`
	// Class of Ingress objects. Defaults to the default class of the cluster.
	// +kubebuilder:example="nginx"
	// +optional
	IngressClassName ObjectName `json:"ingressClassName,omitempty"`
	// Controller that serves Ingress objects. The APIs use https with certificates of a private authority, which the controller's own
	// annotations configure. With other, set the annotations that your controller requires.
	// +kubebuilder:validation:Enum=ingress-nginx;haproxy.org;haproxy-ingress;other
	// +optional
	IngressController string `json:"ingressController,omitempty"`
	// Annotations of Ingress and HTTPRoute objects, for the controller that serves them.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
	// Namespaces from which the controller connects to the APIs. Defaults to all namespaces.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	AllowedNamespaces []NamespaceName `json:"allowedNamespaces,omitempty"`
}

// AnnotationValue is the value of an annotation.
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string

// Gateway names a Gateway of the Gateway API.
type Gateway struct {
	// Name of the Gateway.
	// +kubebuilder:example="public"
	Name ObjectName `json:"name"`
	// Namespace of the Gateway.
	// +kubebuilder:example="gateway-system"
	Namespace NamespaceName `json:"namespace"`
	// Listener of the Gateway. Defaults to every listener that accepts the host name.
	// +optional
	SectionName ObjectName `json:"sectionName,omitempty"`
}

// TLS configures the certificates of public addresses.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.issuerRef)",message="issuerRef has no effect without TLS; remove issuerRef or set enabled to true",fieldPath=".issuerRef"
type TLS struct {
	// Serve public addresses by https. Defaults to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Issuer of the public certificates, for an exposure of type Ingress. If unset, the controller provides the certificate. With a Gateway,
	// the listener always provides the certificate.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`
}

// MonitoringSettings are the settings of Prometheus objects of a claim or of the platform. A field that the claim does not set is taken
// from the platform.
type MonitoringSettings struct {
	// Create ServiceMonitors, PrometheusRules and dashboards (ConfigMaps). Defaults to the platform's value, then to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Labels of these objects, by which a Prometheus selects them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// Monitoring configures Prometheus objects.
type Monitoring struct {
	// Create ServiceMonitors, PrometheusRules and dashboards (ConfigMaps). Defaults to false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Labels of these objects, by which a Prometheus selects them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// ServiceExposure configures the external access to the API of one service.
type ServiceExposure struct {
	Exposure `json:",inline"`
	// Public host name.
	Hostname Hostname `json:"hostname"`
	// Path below the host name. Defaults to the whole host.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^/[a-z0-9-]+$`
	// +optional
	Path string `json:"path,omitempty"`
	// Certificate of the host name.
	// +optional
	TLS TLS `json:"tls,omitempty"`
}

// Target is the cluster of a service's workloads and the connection to it.
type Target struct {
	// Provider config of the cluster (a ClusterProviderConfig of provider-kubernetes).
	ProviderConfig ObjectName `json:"providerConfig"`
	// The workloads run in another cluster than the composite resource.
	// +optional
	Remote bool `json:"remote,omitempty"`
}

// MemberExposure gives the members of a server without HTTP an external address.
// +kubebuilder:validation:XValidation:rule="self.type != 'NodePort' || has(self.nodes)",message="exposure of type NodePort requires nodes: a name or an address of the nodes",fieldPath=".nodes"
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' || !has(self.nodes)",message="nodes requires exposure type NodePort; remove nodes or change the type",fieldPath=".nodes"
type MemberExposure struct {
	// None: only inside the cluster. LoadBalancer and NodePort: by Services of that type.
	// +kubebuilder:validation:Enum=None;LoadBalancer;NodePort
	Type string `json:"type"`
	// Name or IPv4 address of the nodes of the cluster, or of some permanent ones. Clients connect to ports of type NodePort there.
	// +kubebuilder:example="nodes.example.com"
	// +optional
	Nodes Host `json:"nodes,omitempty"`
	// Annotations of the Services, for the controller that serves them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
	// Networks from which clients may connect to the members. Defaults to any. With type NodePort, a node may replace the client's address by
	// its own; add the networks of the nodes.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Networks []CIDR `json:"networks,omitempty"`
}

// Types of a MemberExposure.
const (
	ExposureNone         = "None"
	ExposureLoadBalancer = "LoadBalancer"
	ExposureNodePort     = "NodePort"
)
