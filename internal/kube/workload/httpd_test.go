package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHTTPD compares the complete file, which was reviewed manually; a real Apache reads it in test/openstack.
func TestHTTPD(t *testing.T) {
	const want = `ServerRoot /etc/apache2
ServerName a.b.svc
PidFile /tmp/apache2.pid
DefaultRuntimeDir /tmp
Mutex file:/tmp default
ErrorLog /dev/stderr
Listen 5000
Listen 1718
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
LoadModule authn_core_module /usr/lib/apache2/modules/mod_authn_core.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule authz_user_module /usr/lib/apache2/modules/mod_authz_user.so
LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
LoadModule reqtimeout_module /usr/lib/apache2/modules/mod_reqtimeout.so
LoadModule setenvif_module /usr/lib/apache2/modules/mod_setenvif.so
LoadModule socache_shmcb_module /usr/lib/apache2/modules/mod_socache_shmcb.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule other_module /usr/lib/apache2/modules/mod_other.so
ServerLimit 4
StartServers 2
ThreadsPerChild 40
MinSpareThreads 40
MaxSpareThreads 160
MaxRequestWorkers 160
Timeout 60
KeepAliveTimeout 75
RequestReadTimeout handshake=20 header=20-40,MinRate=500 body=60,MinRate=500
ProxyTimeout 120
LimitRequestFieldSize 32768
LimitRequestLine 32768
GracefulShutdownTimeout 60
LogFormat "%h %l %u %t \"%r\" %>s %b" combined
SSLSessionCache shmcb:/tmp/ssl(512000)
<VirtualHost *:1718>
  Redirect 204 /
</VirtualHost>
<VirtualHost *:5000>
  SSLEngine on
  SSLCertificateFile /etc/a/tls.crt
  SSLCertificateKeyFile /etc/a/tls.key
  OtherOption on
  <Location /in>
    OtherAction in
    Require all granted
  </Location>
  ProxyPreserveHost On
  ProxyPass / http://127.0.0.1:5001/ max=25 acquire=1000 responsefieldsize=32768
  ProxyPassReverse / http://127.0.0.1:5001/
</VirtualHost>
`
	got := HTTPD{
		Name: "a.b.svc", Port: 5000, Backend: 5001, CertFile: "/etc/a/tls.crt", KeyFile: "/etc/a/tls.key", TerminationGracePeriod: time.Minute,
		Health: 1718, Request: 2 * time.Minute, HeaderBytes: 32 << 10, Queue: 100, KeepAlive: 75 * time.Second,
		Modules: []string{"other"}, Directives: []string{"OtherOption on"},
		Locations: []Location{{Path: "/in", Directives: []string{"OtherAction in", "Require all granted"}}},
	}.Config()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
