package v1alpha1

// Exposure says how APIs are reached from outside the cluster.
// +kubebuilder:validation:XValidation:rule="self.type != 'GatewayAPI' || has(self.gateway)",message="exposure of type GatewayAPI needs gateway.name and gateway.namespace"
// +kubebuilder:validation:XValidation:rule="self.type != 'Ingress' || !has(self.routing) || self.routing == 'Hostnames'",message="routing Paths needs type GatewayAPI: a path has to be rewritten, which Ingress has no portable field for; use routing Hostnames"
type Exposure struct {
	// None: only inside the cluster. GatewayAPI: HTTPRoutes at a Gateway. Ingress: Ingress objects.
	// +kubebuilder:validation:Enum=None;GatewayAPI;Ingress
	Type string `json:"type"`
	// Hostnames gives each service a host name (keystone.<domain>), Paths a path at one host name (<domain>/identity).
	// +kubebuilder:validation:Enum=Hostnames;Paths
	// +optional
	Routing string `json:"routing,omitempty"`
	// The Gateway that routes attach to.
	// +optional
	Gateway *Gateway `json:"gateway,omitempty"`
	// Class of Ingress objects. Absent: the cluster's default class.
	// +kubebuilder:example="nginx"
	// +optional
	IngressClassName ObjectName `json:"ingressClassName,omitempty"`
	// Controller that serves Ingress objects. The APIs behind it speak https, with certificates of an authority of their own, which is
	// configured by its own annotations. other: configure it by annotations, if it needs that.
	// +kubebuilder:validation:Enum=ingress-nginx;haproxy.org;haproxy-ingress;other
	// +optional
	IngressController string `json:"ingressController,omitempty"`
	// Annotations of Ingress and HTTPRoute objects, for the controller that serves them.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
	// Namespaces from which the controller reaches the APIs. Absent: from every namespace.
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
	// Listener of the Gateway. Absent: every listener that takes the host name.
	// +optional
	SectionName ObjectName `json:"sectionName,omitempty"`
}

// TLS says how public addresses get their certificates.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.issuerRef)",message="without TLS there is no certificate to issue; leave issuerRef out, or enabled on",fieldPath=".issuerRef"
type TLS struct {
	// Serve public addresses by https. Absent: yes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Issuer of the public certificates, for an exposure of type Ingress. Absent: the controller brings its own. At a Gateway it is always
	// the listener that has the certificate.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`
}

// MonitoringSettings are a claim's or the platform's settings of Prometheus objects. Absent fields are left to the other.
type MonitoringSettings struct {
	// Make ServiceMonitors, PrometheusRules and, in ConfigMaps, dashboards. Absent, of both: no.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Labels of these objects, by which a Prometheus selects them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// Monitoring says whether Prometheus objects are made.
type Monitoring struct {
	// Make ServiceMonitors, PrometheusRules and, in ConfigMaps, dashboards.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Labels of these objects, by which a Prometheus selects them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// ServiceExposure is how one service's API is reached from outside.
type ServiceExposure struct {
	Exposure `json:",inline"`
	// Public host name.
	Hostname Hostname `json:"hostname"`
	// Path below the host name. Absent: the whole host.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^/[a-z0-9-]+$`
	// +optional
	Path string `json:"path,omitempty"`
	// Certificate of the host name.
	// +optional
	TLS TLS `json:"tls,omitempty"`
}

// Target says where a service's workloads run and how that cluster is reached.
type Target struct {
	// Provider config of the cluster (a ClusterProviderConfig of provider-kubernetes).
	ProviderConfig ObjectName `json:"providerConfig"`
	// The cluster is not the one that the composite resource lives in.
	// +optional
	Remote bool `json:"remote,omitempty"`
}

// MemberExposure gives members of something that does not speak HTTP an address outside.
// +kubebuilder:validation:XValidation:rule="self.type != 'NodePort' || has(self.nodes)",message="exposure of type NodePort needs nodes: a name or an address at which the nodes are reached, since ports alone are no address",fieldPath=".nodes"
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' || !has(self.nodes)",message="nodes is how the nodes are reached for exposure of type NodePort; leave it out",fieldPath=".nodes"
type MemberExposure struct {
	// None: only inside the cluster. LoadBalancer and NodePort: by Services of that type.
	// +kubebuilder:validation:Enum=None;LoadBalancer;NodePort
	Type string `json:"type"`
	// Name or IPv4 address at which the cluster's nodes are reached, all of them or some that stay: what the ports of type NodePort are at.
	// +kubebuilder:example="nodes.example.com"
	// +optional
	Nodes Host `json:"nodes,omitempty"`
	// Annotations of the Services, for the controller that serves them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
	// Networks from which the members are reached. Absent: any. With type NodePort a node may forward in its own name, so name the nodes'
	// networks, too.
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
