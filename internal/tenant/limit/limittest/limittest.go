// Package limittest provides a limit for tests that do not test limits.
package limittest

// Everything is a limit of a PlatformConfig, in YAML, that allows everything in all claims.
const Everything = `{name: everything, namespaces: ["*"], registries: ["*"], domains: ["*"], secretStores: ["*"], gateways: ["*"],
  ingressClasses: ["*"], exposureNamespaces: ["*"], annotations: ["*"], issuers: ["*"], nodeSelectors: ["*"], tolerations: ["*"],
  storageClasses: ["*"], monitoringLabels: ["*"], s3Endpoints: ["*"], directoryHosts: ["*"], openIDHosts: ["*"],
  keystoneHosts: ["*"], databaseHosts: ["*"], queueHosts: ["*"], downloadHosts: ["*"], storageNetworks: ["*"], nfsServers: ["*"],
  vaultServers: ["*"],
  hypervisorNetworks: ["*"], hypervisorNodes: ["*"], hypervisorRegistries: ["*"], hypervisorAgents: ["*"], storageNodes: ["*"],
  storageDevices: ["*"], storageImages: ["*"],
  maxima: {replicas: 100, processes: 100, storage: "1e30", cpu: "1e30", memory: "1e30"}}`
