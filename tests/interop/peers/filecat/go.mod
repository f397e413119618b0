// SPDX-License-Identifier: Apache-2.0

module lens/interop/filecat

go 1.26

require (
	github.com/klauspost/compress v1.18.0
	go.opentelemetry.io/collector/pdata v1.71.0
)
