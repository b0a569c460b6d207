#if Valkey
package import Diamond
import NIOCore

/// Leases. They go over the connection that tracks: when one has ended, the changes before its end are known.
extension ValkeyStorage: LeasingCacheStorage {
    package func take(_ lease: CacheLease, for time: Duration) async throws(CacheError) -> Bool {
        try await run(ValkeyScripts.take, lease, arguments: [String(time.milliseconds)]) != .null
    }

    package func isTaken(_ lease: CacheLease) async throws(CacheError) -> Bool {
        let name = keys.lease(lease)
        let values = try await ask { () throws(ValkeyError) in try await wire.values(of: [name], isTracked: true) }
        return values != [nil]
    }

    package func end(_ lease: CacheLease) async throws(CacheError) {
        _ = try await run(ValkeyScripts.end, lease)
    }

    private func run(
        _ script: String, _ lease: CacheLease, arguments: [String] = []
    ) async throws(CacheError) -> RESPValue? {
        let call = ValkeyCall(
            script: script, keys: [keys.lease(lease)],
            arguments: ([String(lease.token)] + arguments).map { ByteBuffer(string: $0) }, isTracked: false)
        return try await ask { () throws(ValkeyError) in try await wire.run([call]) }.first
    }
}
#endif
