// Package horizon tests a real Horizon with requests, and with a real Chromium.
package horizon
