// Package brokers tests the RabbitMQ and the Valkey of a claim with the clients of OpenStack.
package brokers
