#if Valkey
public import Diamond
import DiamondSQLite
package import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// The storage of a cache on Valkey, or on Redis 6 or later: trait `Valkey`, off by default.
///
/// All processes with the same URL share the entries. The server expires them: a day after they are stale, or 30 days
/// if a validator can confirm them. It may evict them at any time. While it cannot be reached, lookups are misses, and
/// fail at once; the memory tier of each process keeps the entries that arrive in the meantime.
///
/// The memory tiers are kept current by the server's client tracking: it reports every change of an entry that a process
/// has read. A process that loses the connection, or hears nothing for a second, drops its memory tier.
///
/// An invalidation or erasure by tag, host, identity or URL, or of everything, writes one value, however many entries it
/// affects. The bytes of erased entries are removed afterwards, before the call returns.
package final class ValkeyStorage: CacheStorage {
    let wire: any ValkeyWire
    let keys: ValkeyKeys
    let watch = Guarded(ValkeyWatch())
    let timing: ValkeyTiming
    package let name: String
    package let secret: Data
    /// A number that distinguishes the announcements of this process.
    let instance = UInt64.random(in: 0 ... .max)

    /// The interval in which the used stamps are read, so that a server that evicts what is used least does not evict
    /// them first.
    private static let refreshInterval: UInt64 = 30_000_000_000
    private let refreshedAt = Atomic<UInt64>(0)

    /// Connects to a server in the background.
    ///
    /// - Parameter url: the URL of the server, as for ``CachePlace/valkey(_:)``.
    /// - Throws: `cannotOpen` if it is no such URL. The message does not contain it.
    package convenience init(_ url: String) throws(CacheError) {
        do throws(ValkeyError) {
            try self.init(ValkeyAddress(url))
        } catch {
            throw CacheError(.cannotOpen, error.message)
        }
    }

    package convenience init(_ address: ValkeyAddress, timing: ValkeyTiming = ValkeyTiming()) throws(ValkeyError) {
        try self.init(address, timing: timing) { (channel, onEvent) throws(ValkeyError) in
            try ValkeyClient(
                address, channel: channel, group: MultiThreadedEventLoopGroup.singleton, timing: timing,
                onEvent: onEvent)
        }
    }

    /// - Parameter connect: makes the wire, with the channel of announcements and the receiver of events.
    package init(
        _ address: ValkeyAddress,
        timing: ValkeyTiming,
        connect: (String, @escaping @Sendable (ValkeyEvent) -> Void) throws(ValkeyError) -> any ValkeyWire
    ) throws(ValkeyError) {
        name = address.description
        keys = ValkeyKeys(prefix: address.prefix)
        secret = CacheSecret.derived(from: address.password, for: "diamond valkey \(address.prefix)")
        self.timing = timing
        let receiver = Receiver()
        wire = try connect(keys.channel) { receiver.storage?.receive($0) }
        receiver.set(self)
    }

    deinit { wire.close() }

    /// Sends a request to the server, with its failure as one of the cache.
    func ask<Value>(_ body: () async throws(ValkeyError) -> Value) async throws(CacheError) -> Value {
        do { return try await body() } catch { throw cacheError(error) }
    }

    func cacheError(_ error: ValkeyError) -> CacheError {
        // A full server still answers lookups.
        CacheError(error.code == .outOfMemory ? .other : .unreachable, error.message)
    }

    // MARK: Events

    private func receive(_ event: ValkeyEvent) {
        switch event {
        case .connected: watch.withLock { $0.connect() }
        case .lost: watch.withLock { $0.disconnect() }
        case .changed(let names): watch.withLock { $0.change(names) }
        case .announced(var bytes):
            guard bytes.readInteger(as: UInt64.self) != instance else { return }
            let names = ChangedNames(Data(bytes.readableBytesView))
            watch.withLock { $0.log.append(names) }
        case .time(let time):
            watch.withLock { $0.advance(to: time) }
            refreshIfDue()
        }
    }

    private func refreshIfDue() {
        let now = NIODeadline.now().uptimeNanoseconds
        let last = refreshedAt.load(ordering: .relaxed)
        guard now - last >= Self.refreshInterval,
            refreshedAt.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        Task { await refresh() }
    }

    /// Reads the stamps that were used since the last time.
    private func refresh() async {
        let used = watch.withLock { $0.takeUsedStamps() }
        for start in stride(from: 0, to: used.count, by: 256) {
            _ = try? await wire.values(of: Array(used[start..<min(start + 256, used.count)]), isTracked: true)
        }
    }

    package func changes(since position: ChangePosition?) throws(CacheError) -> CacheChanges {
        // A process that was stopped has not closed the connection yet.
        let isSilent = wire.silence.map { $0 >= timing.silence } ?? true
        return watch.withLock { watch in
            if isSilent, watch.log.connectedAt != nil { watch.disconnect() }
            return watch.log.changes(since: position)
        }
    }
}

extension CachePlace {
    /// The place of a cache on Valkey, or on Redis 6 or later: trait `Valkey`, off by default.
    ///
    /// All processes with the same URL share the entries. If the URL cannot be read, the engine has no cache.
    /// `Engine.cacheFailure` has the reason, without the URL.
    ///
    /// - Parameter url: `valkey://user:password@host:6379/0?prefix=app`. The schemes `valkeys` and `rediss` use TLS,
    ///   `valkey+unix:///path` a Unix socket, and `redis` is the same as `valkey`. `prefix` begins every key; `ca` is the
    ///   path of a file with the certificates that sign the server's. The password also makes the store's secret: all
    ///   processes need the same one.
    public static func valkey(_ url: String) -> CachePlace {
        let name = (try? ValkeyAddress(url))?.description ?? "valkey"
        return .server(name) { () throws(CacheError) in try ValkeyStorage(url) }
    }
}

/// Takes the events of a wire to the storage that owns it.
private final class Receiver: Sendable {
    private struct Target { weak var storage: ValkeyStorage? }

    private let target = Guarded(Target())

    var storage: ValkeyStorage? { target.withLock { $0.storage } }

    func set(_ storage: ValkeyStorage) { target.withLock { $0.storage = storage } }
}
#endif
