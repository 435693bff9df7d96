package keystone

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// strip removes fields wherever they are.
func strip(v any, fields []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, f := range fields {
			delete(v, f)
		}
		for _, inner := range v {
			strip(inner, fields)
		}
	case []any:
		for _, inner := range v {
			strip(inner, fields)
		}
	}
}

// TestObjectsMatchReviewedManifests verifies all fields of the objects for operators and the companion. Other tests verify pods; this one
// verifies the programs that they run.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	worlds := map[string]map[string]map[string]any{}
	for _, file := range []string{"small", "directories", "federation"} {
		worlds[file] = desired(t, ready(t, xr(t, file,
			set(map[string]any{"enabled": true}, "monitoring"), set(map[string]any{"name": "openbao", "kind": "ClusterSecretStore", "prefix": "kv"}, "secretStore"),
		)))
	}
	for name, tc := range map[string]struct {
		reason, file, resource string
		path                   []any
		// without are fields that are removed before the comparison.
		without string
		want    string
	}{
		"schema": {
			reason: "Each step runs its own command; a warning of the check is no failure.", file: "small", resource: "schema",
			path: []any{"spec"}, without: "template", want: `
consumers:
- kind: Deployment
  name: keystone
contract:
- command:
  - keystone-manage
  - db_sync
  - --contract
  name: contract
expand:
- command:
  - keystone-manage
  - db_sync
  - --expand
  name: expand
release: "2025.2"
schemaVersion:
  empty: None
  step:
    command:
    - keystone-manage
    - db_version
    name: db-version
sync:
- command:
  - keystone-manage
  - db_sync
  name: db-sync
upgradeCheck:
  command:
  - keystone-status
  - upgrade
  - check
  name: upgrade-check
  successCodes:
  - 0
  - 1
`,
		},
		"bootstrap": {
			reason: "It makes the administrator by the password of his Secret, in the region and at the addresses of the spec.",
			file:   "small", resource: "bootstrap-", path: []any{"spec"}, want: `
backoffLimit: 6
template:
  metadata:
    labels:
      app.kubernetes.io/component: bootstrap
      app.kubernetes.io/instance: keystone
      app.kubernetes.io/managed-by: crossplane-cobaltcore
      app.kubernetes.io/name: keystone
      app.kubernetes.io/part-of: openstack
  spec:
    automountServiceAccountToken: false
    containers:
    - command:
      - keystone-manage
      - bootstrap
      - --bootstrap-username
      - admin
      - --bootstrap-project-name
      - admin
      - --bootstrap-role-name
      - admin
      - --bootstrap-service-name
      - keystone
      - --bootstrap-region-id
      - RegionOne
      - --bootstrap-public-url
      - https://keystone.cloud.svc:5000/v3
      - --bootstrap-internal-url
      - https://keystone.cloud.svc:5000/v3
      env:
      - name: DATABASE_PASSWORD
        valueFrom:
          secretKeyRef:
            key: password
            name: keystone-database
      - name: OS_DATABASE__CONNECTION
        value: mysql+pymysql://keystone:$(DATABASE_PASSWORD)@mariadb.cloud.svc.cluster.local:3306/keystone?charset=utf8&ssl_ca=/etc/keystone/database-ca/ca.crt
      - name: OS_FERNET_TOKENS__KEY_REPOSITORY
        value: /etc/keystone/database-ca
      - name: OS_FERNET_RECEIPTS__KEY_REPOSITORY
        value: /etc/keystone/database-ca
      - name: OS_CACHE__ENABLED
        value: "false"
      - name: OS_BOOTSTRAP_PASSWORD
        valueFrom:
          secretKeyRef:
            key: password
            name: keystone-admin
      name: keystone
      resources:
        limits:
          memory: 1Gi
        requests:
          cpu: 100m
          ephemeral-storage: 102Mi
          memory: 256Mi
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop:
          - ALL
        readOnlyRootFilesystem: true
      volumeMounts:
      - mountPath: /tmp
        name: tmp
      - mountPath: /etc/keystone/database-ca
        name: database-ca
        readOnly: true
    enableServiceLinks: false
    priorityClassName: cobaltcore-infrastructure
    restartPolicy: Never
    securityContext:
      fsGroup: 42424
      runAsGroup: 42424
      runAsNonRoot: true
      runAsUser: 42424
      seccompProfile:
        type: RuntimeDefault
    volumes:
    - emptyDir:
        sizeLimit: 1Gi
      name: tmp
    - name: database-ca
      secret:
        defaultMode: 288
        items:
        - key: ca.crt
          path: ca.crt
        secretName: mariadb-ca-bundle
`,
		},
		"fernet keys": {reason: "They live as long as tokens do.", file: "small", resource: "fernet-keys", path: []any{"spec"}, want: `
backup:
  remoteKey: kv/cloud/keystone-fernet-keys
  secretStoreRef:
    kind: ClusterSecretStore
    name: openbao
    prefix: kv
consumers:
- kind: Deployment
  name: keystone
rotationSchedule: 0 0 * * 0
secretName: keystone-fernet-keys
token:
  allowExpiredWindowSeconds: 172800
  expirationSeconds: 3600
type: Fernet
`},
		"credential keys": {reason: "Stored credentials are re-encrypted.", file: "small", resource: "credential-keys", path: []any{"spec"}, want: `
backup:
  remoteKey: kv/cloud/keystone-credential-keys
  secretStoreRef:
    kind: ClusterSecretStore
    name: openbao
    prefix: kv
consumers:
- kind: Deployment
  name: keystone
migrate:
  command:
  - keystone-manage
  - credential_migrate
rotationSchedule: 0 0 1 * *
secretName: keystone-credential-keys
type: Credential
`},
		"kept keys": {reason: "A store has a copy.", file: "federation", resource: "fernet-keys", path: []any{"spec", "backup"}, want: `
remoteKey: kv/cloud/keystone-fernet-keys
secretStoreRef:
  kind: ClusterSecretStore
  name: openbao
  prefix: kv
`},
		"clouds": {
			reason: "The administrator logs in at the internal address, with its authority in the same Secret.", file: "small", resource: "clouds",
			path: []any{"spec"}, want: `
sources:
- name: password
  secretKeyRef:
    key: password
    name: keystone-admin
- name: ca
  secretKeyRef:
    key: ca.crt
    name: keystone-tls
- name: database
  secretKeyRef:
    key: password
    name: keystone-database
targetSecretName: keystone-clouds
template:
  cacert: '{{ .ca }}'
  clouds.yaml: |
    clouds:
      admin:
        auth_type: password
        auth:
          auth_url: https://keystone.cloud.svc:5000/v3
          username: "admin"
          password: {{ .password | quote }}
          project_name: admin
          user_domain_name: Default
          project_domain_name: Default
        identity_api_version: 3
        interface: internal
`,
		},
		"domains": {
			reason: "Each directory has a file, its password and its authority.", file: "directories", resource: "domains", path: []any{"spec"}, want: `
sources:
- escape: OsloConfig
  name: password0
  secretKeyRef:
    key: password
    name: ldap
- name: ca0
  secretKeyRef:
    key: ca.crt
    name: ldap
targetSecretName: keystone-domains
template:
  employees.pem: '{{ .ca0 }}'
  keystone.employees.conf: |
    [identity]
    driver = ldap

    [ldap]
    group_tree_dn = ou=groups,dc=example,dc=com
    password = {{ .password0 }}
    pool_size = 5
    suffix = dc=example,dc=com
    tls_cacertfile = /etc/keystone/domains/employees.pem
    url = ldaps://ldap.example.com
    use_pool = true
    user = cn=keystone,dc=example,dc=com
    user_filter = (&(memberOf=cn=cloud,ou=groups,dc=example,dc=com)(!(cn=$$x)))
    user_objectclass = inetOrgPerson
    user_tree_dn = ou=people,dc=example,dc=com
  keystone.partners.conf: |
    [identity]
    driver = ldap

    [ldap]
    suffix = dc=partners
    url = ldap://10.0.0.1:3389
    user_tree_dn = ou=people,dc=partners
`,
		},
		"K-ORC's clouds": {reason: "K-ORC logs in by that credential.", file: "small", resource: "korc-clouds", path: []any{"spec"}, want: `
sources:
- name: id
  secretKeyRef:
    key: application_credential_id
    name: keystone-korc
- name: secret
  secretKeyRef:
    key: application_credential_secret
    name: keystone-korc
- name: ca
  secretKeyRef:
    key: ca.crt
    name: keystone-tls
targetSecretName: keystone-korc-clouds
template:
  cacert: '{{ .ca }}'
  clouds.yaml: |
    clouds:
      korc:
        auth_type: v3applicationcredential
        auth:
          auth_url: https://keystone.cloud.svc:5000/v3
          application_credential_id: {{ .id | quote }}
          application_credential_secret: {{ .secret | quote }}
        identity_api_version: 3
        interface: internal
        endpoint_type: internal
`},
		"companion's rights": {
			reason: "The companion has access to its objects by name.", file: "directories", resource: "companion-role", path: []any{"rules"}, want: `
- apiGroups:
  - ""
  resourceNames:
  - keystone-admin
  - keystone-cache
  - keystone-clouds
  - keystone-credential-keys
  - keystone-credential-keys-restore
  - keystone-database
  - keystone-domains
  - keystone-fernet-keys
  - keystone-fernet-keys-restore
  - keystone-korc
  - keystone-korc-clouds
  - keystone-tls
  - ldap
  - mariadb-ca-bundle
  resources:
  - secrets
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - ""
  resourceNames:
  - keystone-clouds
  - keystone-credential-keys
  - keystone-domains
  - keystone-fernet-keys
  - keystone-korc
  - keystone-korc-clouds
  resources:
  - secrets
  verbs:
  - update
- apiGroups:
  - apps
  resourceNames:
  - keystone
  resources:
  - deployments
  verbs:
  - patch
`,
		},
		"K-ORC's credential": {reason: "It is replaced before it is too old.", file: "small", resource: "korc-credential", path: []any{"spec"}, want: `
cloudCredentialsRef:
  cloudName: admin
  secretName: keystone-clouds
consumers:
- kind: SecretAggregate
  name: keystone-korc-clouds
gracePeriodDays: 1
intervalDays: 90
preRotationDays: 7
secretName: keystone-korc
target: ApplicationCredential
userName: admin
`},
		"login": {reason: "The companion looks whether tokens are given.", file: "small", resource: "login", path: []any{"spec"}, want: `
cloudCredentialsRef:
  cloudName: admin
  secretName: keystone-clouds
exempt: true
`},
		"certificate": {
			reason: "It holds for every name that the Service has.", file: "small", resource: "server-certificate", path: []any{"spec"}, want: `
dnsNames:
- keystone.cloud.svc
- keystone.cloud.svc.cluster.local
- keystone.cloud
- keystone
issuerRef:
  group: cert-manager.io
  kind: Issuer
  name: internal-ca
privateKey:
  algorithm: ECDSA
  rotationPolicy: Always
  size: 256
secretName: keystone-tls
usages:
- digital signature
- server auth
- client auth
`,
		},
		"database account": {
			reason: "Its Secret is made once, and its operator looks at it.", file: "small", resource: "database-secret", path: []any{"spec"}, want: `
dataFrom:
- sourceRef:
    generatorRef:
      apiVersion: generators.external-secrets.io/v1alpha1
      kind: Password
      name: keystone-database
refreshPolicy: CreatedOnce
target:
  creationPolicy: Orphan
  name: keystone-database
  template:
    data:
      password: '{{ .password }}'
      username: keystone
    engineVersion: v2
    metadata:
      labels:
        k8s.mariadb.com/watch: "true"
`,
		},
		"administrator": {reason: "The administrator's password is retained.", file: "small", resource: "admin-secret", path: []any{"spec", "target"}, want: `
creationPolicy: Orphan
name: keystone-admin
template:
  data:
    password: '{{ .password }}'
    username: admin
  engineVersion: v2
`},
		"proxy's passphrase": {reason: "The proxy's passphrase is retained.", file: "federation", resource: "federation-secret", path: []any{"spec", "target"}, want: `
creationPolicy: Orphan
name: keystone-federation
template:
  data:
    password: '{{ .password }}'
    username: proxy
  engineVersion: v2
`},
		"flush": {
			reason: "Expired trusts are removed each hour.", file: "small", resource: "trust-flush", path: []any{"spec", "schedule"}, want: `
0 * * * *
`,
		},
		"flush's command": {
			reason: "By the command for it.", file: "small", resource: "trust-flush",
			path: []any{"spec", "jobTemplate", "spec", "template", "spec", "containers", 0, "command"}, want: `
- keystone-manage
- trust_flush
`,
		},
		"pod": {
			reason: "It serves https itself, with all that it reads mounted where its configuration looks.", file: "directories", resource: "deployment",
			path: []any{"spec", "template", "spec"}, without: "securityContext topologySpreadConstraints", want: `
automountServiceAccountToken: false
containers:
- command:
  - uwsgi
  - --ini
  - /etc/keystone/uwsgi.ini
  env:
  - name: DATABASE_PASSWORD
    valueFrom:
      secretKeyRef:
        key: password
        name: keystone-database
  - name: OS_DATABASE__CONNECTION
    value: mysql+pymysql://keystone:$(DATABASE_PASSWORD)@mariadb.cloud.svc.cluster.local:3306/keystone?charset=utf8&ssl_ca=/etc/keystone/database-ca/ca.crt
  - name: PYTHONPATH
    value: /etc/keystone/python
  - name: CACHE_PASSWORD
    valueFrom:
      secretKeyRef:
        key: password
        name: keystone-cache
  lifecycle:
    preStop:
      sleep:
        seconds: 10
  livenessProbe:
    failureThreshold: 6
    httpGet:
      path: /live
      port: health
      scheme: HTTP
    periodSeconds: 10
    timeoutSeconds: 5
  name: keystone
  ports:
  - containerPort: 5000
    name: api
  - containerPort: 1717
    name: health
  readinessProbe:
    failureThreshold: 2
    httpGet:
      path: /ready
      port: health
      scheme: HTTP
    periodSeconds: 5
    timeoutSeconds: 5
  resources:
    requests:
      ephemeral-storage: 102Mi
  startupProbe:
    failureThreshold: 60
    httpGet:
      path: /healthcheck
      port: api
      scheme: HTTPS
    periodSeconds: 2
    timeoutSeconds: 5
  volumeMounts:
  - mountPath: /tmp
    name: tmp
  - mountPath: /etc/keystone/fernet-keys
    name: fernet-keys
    readOnly: true
  - mountPath: /etc/keystone/credential-keys
    name: credential-keys
    readOnly: true
  - mountPath: /etc/keystone/database-ca
    name: database-ca
    readOnly: true
  - mountPath: /etc/keystone/keystone.conf
    name: config
    readOnly: true
    subPath: keystone.conf
  - mountPath: /etc/keystone/policy.yaml
    name: config
    readOnly: true
    subPath: policy.yaml
  - mountPath: /etc/keystone/domains
    name: domains
    readOnly: true
  - mountPath: /etc/keystone/uwsgi.ini
    name: config
    readOnly: true
    subPath: uwsgi.ini
  - mountPath: /etc/keystone/health.py
    name: config
    readOnly: true
    subPath: health.py
  - mountPath: /etc/keystone/python/memcache.py
    name: config
    readOnly: true
    subPath: memcache.py
  - mountPath: /etc/keystone/python/sealedcache.py
    name: config
    readOnly: true
    subPath: sealedcache.py
  - mountPath: /etc/keystone/tls
    name: tls
    readOnly: true
enableServiceLinks: false
priorityClassName: cobaltcore-infrastructure
terminationGracePeriodSeconds: 75
volumes:
- emptyDir:
    sizeLimit: 1Gi
  name: tmp
- name: fernet-keys
  secret:
    defaultMode: 288
    secretName: keystone-fernet-keys
- name: credential-keys
  secret:
    defaultMode: 288
    secretName: keystone-credential-keys
- name: database-ca
  secret:
    defaultMode: 288
    items:
    - key: ca.crt
      path: ca.crt
    secretName: mariadb-ca-bundle
- name: config
- name: domains
  secret:
    defaultMode: 288
    secretName: keystone-domains
- name: tls
  secret:
    defaultMode: 288
    items:
    - key: tls.crt
      path: tls.crt
    - key: tls.key
      path: tls.key
    secretName: keystone-tls
`,
		},
		"pod with a proxy": {
			reason: "uWSGI serves the proxy alone, which serves https.", file: "federation", resource: "deployment",
			path: []any{"spec", "template", "spec", "containers"}, want: `
- command:
  - uwsgi
  - --ini
  - /etc/keystone/uwsgi.ini
  env:
  - name: DATABASE_PASSWORD
    valueFrom:
      secretKeyRef:
        key: password
        name: keystone-database
  - name: OS_DATABASE__CONNECTION
    value: mysql+pymysql://keystone:$(DATABASE_PASSWORD)@mariadb-primary.cloud.svc.cluster.local:3306/keystone?charset=utf8&ssl_ca=/etc/keystone/database-ca/ca.crt
  - name: PYTHONPATH
    value: /etc/keystone/python
  - name: CACHE_PASSWORD
    valueFrom:
      secretKeyRef:
        key: password
        name: keystone-cache
  lifecycle:
    preStop:
      sleep:
        seconds: 10
  livenessProbe:
    failureThreshold: 6
    httpGet:
      path: /live
      port: health
      scheme: HTTP
    periodSeconds: 10
    timeoutSeconds: 5
  name: keystone
  ports:
  - containerPort: 1717
    name: health
  readinessProbe:
    failureThreshold: 2
    httpGet:
      path: /ready
      port: health
      scheme: HTTP
    periodSeconds: 5
    timeoutSeconds: 5
  resources:
    requests:
      ephemeral-storage: 102Mi
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
    readOnlyRootFilesystem: true
  startupProbe:
    failureThreshold: 60
    httpGet:
      path: /healthcheck
      port: 5000
      scheme: HTTPS
    periodSeconds: 2
    timeoutSeconds: 5
  volumeMounts:
  - mountPath: /tmp
    name: tmp
  - mountPath: /etc/keystone/fernet-keys
    name: fernet-keys
    readOnly: true
  - mountPath: /etc/keystone/credential-keys
    name: credential-keys
    readOnly: true
  - mountPath: /etc/keystone/database-ca
    name: database-ca
    readOnly: true
  - mountPath: /etc/keystone/keystone.conf
    name: config
    readOnly: true
    subPath: keystone.conf
  - mountPath: /etc/keystone/policy.yaml
    name: config
    readOnly: true
    subPath: policy.yaml
  - mountPath: /etc/keystone/sso_callback_template.html
    name: config
    readOnly: true
    subPath: sso_callback_template.html
  - mountPath: /etc/keystone/uwsgi.ini
    name: config
    readOnly: true
    subPath: uwsgi.ini
  - mountPath: /etc/keystone/health.py
    name: config
    readOnly: true
    subPath: health.py
  - mountPath: /etc/keystone/python/memcache.py
    name: config
    readOnly: true
    subPath: memcache.py
  - mountPath: /etc/keystone/python/sealedcache.py
    name: config
    readOnly: true
    subPath: sealedcache.py
- command:
  - apache2
  - -DFOREGROUND
  - -f
  - /etc/keystone/httpd.conf
  env:
  - name: OIDC_CLIENT_SECRET
    valueFrom:
      secretKeyRef:
        key: client-secret
        name: keystone-federation-client
  - name: OIDC_CRYPTO_PASSPHRASE
    valueFrom:
      secretKeyRef:
        key: password
        name: keystone-federation
  lifecycle:
    preStop:
      sleep:
        seconds: 10
  livenessProbe:
    failureThreshold: 6
    httpGet:
      path: /
      port: proxy-health
      scheme: HTTP
    periodSeconds: 10
    timeoutSeconds: 5
  name: federation-proxy
  ports:
  - containerPort: 5000
    name: api
  - containerPort: 1718
    name: proxy-health
  readinessProbe:
    failureThreshold: 2
    httpGet:
      path: /
      port: proxy-health
      scheme: HTTP
    periodSeconds: 5
    timeoutSeconds: 5
  resources:
    limits:
      memory: 256Mi
    requests:
      cpu: 50m
      memory: 64Mi
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
    readOnlyRootFilesystem: true
  startupProbe:
    failureThreshold: 60
    httpGet:
      path: /healthcheck
      port: api
      scheme: HTTPS
    periodSeconds: 2
    timeoutSeconds: 5
  volumeMounts:
  - mountPath: /tmp
    name: tmp
  - mountPath: /etc/keystone/httpd.conf
    name: config
    readOnly: true
    subPath: httpd.conf
  - mountPath: /etc/keystone/tls
    name: tls
    readOnly: true
`,
		},
		"policy": {
			reason: "It reaches its database, its cache and its directories.", file: "directories", resource: "network-policy", path: []any{"spec"}, want: `
egress:
- ports:
  - port: 53
    protocol: UDP
  - port: 53
    protocol: TCP
- ports:
  - port: 3306
    protocol: TCP
  - port: 11211
    protocol: TCP
  to:
  - podSelector: {}
- ports:
  - port: 636
    protocol: TCP
  - port: 3389
    protocol: TCP
ingress:
- ports:
  - port: 5000
    protocol: TCP
podSelector:
  matchLabels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: keystone
    app.kubernetes.io/name: keystone
policyTypes:
- Ingress
- Egress
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got any
			for resource, o := range worlds[tc.file] {
				if resource == tc.resource || strings.HasSuffix(tc.resource, "-") && strings.HasPrefix(resource, tc.resource) {
					got = at(o, tc.path...)
				}
			}
			// Images, and names that are hashes, change with their content.
			strip(got, append(strings.Fields(tc.without), "image", "configMap", "revisions"))
			text, err := yaml.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.TrimSpace(string(text))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
