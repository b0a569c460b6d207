import Crypto
package import Foundation
package import HTTPTypes

/// The answer to a job, stored until it is consumed.
package struct ReplayAnswer: Hashable, Sendable {
    package var status: HTTPResponse.Status
    /// The path of the `Location` field, which names a new object (RFC 9110 section 10.2.2). The query is left out,
    /// because it may contain a secret.
    package var location: String?
    /// The body; `nil` if it could not be read.
    package var body: Data?
    package var receivedAt: Date

    package init(status: HTTPResponse.Status, location: String? = nil, body: Data? = nil, receivedAt: Date) {
        self.status = status
        self.location = location
        self.body = body
        self.receivedAt = receivedAt
    }

    /// The first 64 bits of a SHA-256 digest of everything but the time.
    var checksum: Int64 {
        var hash = SHA256()
        let counts = [Int64(status.code), Int64(location?.utf8.count ?? -1), Int64(body?.count ?? -1)]
        counts.withUnsafeBytes { hash.update(bufferPointer: $0) }
        if let location { hash.update(data: Data(location.utf8)) }
        if let body { hash.update(data: body) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
