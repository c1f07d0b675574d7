#!/bin/sh
# Makes the certificates of test_tls.py anew. They guard nothing: the keys are public, the names
# are of this machine alone.
set -eu
cd "$(dirname "$0")"
authority() { # name
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
        -subj "/CN=$1" -keyout "$1.key" -out "$1.crt" 2>/dev/null
}
signed() { # name, extension
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf '%s\n' "$2" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA authority.crt -CAkey authority.key -days 36500 \
        -extfile "$1.ext" -out "$1.crt" 2>/dev/null
    rm "$1.csr" "$1.ext"
}
authority authority
authority stranger
signed server "subjectAltName=IP:127.0.0.1,DNS:inner.invalid"
signed client "extendedKeyUsage=clientAuth"
rm authority.key stranger.key authority.srl 2>/dev/null || true
