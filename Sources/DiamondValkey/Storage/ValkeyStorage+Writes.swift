#if Valkey
package import Diamond
import DiamondSQLite
import Foundation
import NIOCore

/// Writes.
extension ValkeyStorage {
    /// The most bytes of chunks in one trip.
    private static let groupSize = 1 << 20
    /// The most fields of a hash, about as many as variants of a request: each lookup reads all of them.
    static let mostFields = 64

    package func write(_ batch: CacheBatch) async throws(CacheError) -> CacheOutcome {
        var outcome = CacheOutcome()
        for group in batch.groups() { outcome.vanished += try await write(group) }
        return outcome
    }

    private func write(_ steps: ArraySlice<CacheStep>) async throws(CacheError) -> [RequestKey] {
        var vanished: [RequestKey] = []
        var stores: [ValkeyStore] = []
        for step in steps {
            switch step {
            case .store(let record): stores.append(ValkeyStore(record))
            case .confirm(let confirmation):
                if let store = try await store(for: confirmation) {
                    stores.append(store)
                } else {
                    vanished.append(confirmation.key)
                }
            case .erase(let key, let everywhere):
                let names = everywhere ? ChangedNames(key) : ChangedNames()
                _ = try await change(.erase, keys: [key], announcing: names)
            }
        }
        return try await vanished + self.store(stores)
    }

    /// Returns the storing of a confirmed record; `nil` if the stored one is another.
    private func store(for confirmation: CacheConfirmation) async throws(CacheError) -> ValkeyStore? {
        let owners = try await owners(of: [confirmation.key])
        let rows = try await rows(of: owners.map(keys.records), isTracked: false)
        for row in rows where row.record.key == confirmation.key {
            guard let stored = try await valid([row]).first,
                let record = confirmation.record(replacing: stored)
            else { return nil }
            var store = ValkeyStore(record.with(chunks: row.record.chunks))
            store.version = ValkeyRow.version(of: row.record)
            store.wasStale = row.record.isStale
            store.areChunksStored = true
            return store
        }
        return nil
    }

    /// Stores records.
    ///
    /// - Returns: the keys of those that were not stored, or are stale.
    private func store(_ stores: [ValkeyStore]) async throws(CacheError) -> [RequestKey] {
        if stores.isEmpty { return [] }
        var stores = stores
        watch.withLock { watch in
            for index in stores.indices {
                stores[index].hashWatch = watch.begin(keys.records(under: stores[index].record.requestKey))
            }
        }
        let stamps = try await stampsForStoring(Set(stores.flatMap(\.names)))
        var calls: [ValkeyCall] = []
        var stored: [ValkeyStore] = []
        for var store in stores {
            let own = store.names.compactMap { stamps.values[$0] }
            // A stamp that was evicted at once: the record would be gone.
            guard own.count == store.names.count else { continue }
            store.isStale = store.record.isStale || isOutdated(store.record, stamps: own)
            try await writeBody(of: store)
            calls.append(call(for: store, stamps: own))
            stored.append(store)
        }
        let replies = try await ask { () throws(ValkeyError) in try await wire.run(calls) }
        var vanished = Set(stores.map(\.record.key)).subtracting(stored.map(\.record.key))
        for (store, reply) in zip(stored, replies) {
            if reply != .integer(1) || store.isStale { vanished.insert(store.record.key) }
            if let hashWatch = store.hashWatch { hold(store.record, by: hashWatch, stamps) }
        }
        return Array(vanished)
    }

    /// Whether a change since the request was sent makes a record stale.
    private func isOutdated(_ record: CacheRecord, stamps: [ValkeyStamp]) -> Bool {
        guard let known = record.knownPosition else { return false }
        return watch.withLock { watch in
            watch.log.isOutdated(record) || stamps.contains { watch.isChanged($0, since: known) }
        }
    }

    private func call(for store: ValkeyStore, stamps: [ValkeyStamp]) -> ValkeyCall {
        let record = store.record
        let milliseconds = max(1000, record.retention - record.storedAt)
        let texts = [
            String(milliseconds), store.isStale ? "1" : "0", store.version ?? "", store.wasStale ? "1" : "0",
            String(Self.mostFields),
        ]
        return ValkeyCall(
            script: ValkeyScripts.store,
            keys: [keys.records(under: record.requestKey)] + (ValkeyRow.hasBody(record) ? [] : chunkKeys(of: record)),
            arguments: [ByteBuffer(string: "\(record.key)"), ValkeyRow(record, stamps: stamps).bytes]
                + texts.map { ByteBuffer(string: $0) })
    }

    // MARK: Bodies

    private func chunkKeys(of record: CacheRecord) -> [String] {
        keys.chunks(0..<record.chunkCount, of: ValkeyRow.bodyName(of: record), under: record.requestKey)
    }

    /// Writes the chunks of a large body, and the request key of a variant. The record follows when all are there.
    private func writeBody(of store: ValkeyStore) async throws(CacheError) {
        let record = store.record
        var writes: [ValkeyWrite] = []
        // An hour, until the record sets their expiry: chunks of a record that is never stored do not stay.
        if record.requestKey != record.key {
            let owner = ByteBuffer(string: "\(record.requestKey)")
            let expiry = Duration.milliseconds(max(1000, record.retention - record.storedAt))
            writes.append(ValkeyWrite(key: keys.owner(of: record.key), value: owner, expiry: expiry))
        }
        var size = 0
        if !store.areChunksStored, !ValkeyRow.hasBody(record) {
            for (key, chunk) in zip(chunkKeys(of: record), record.chunks) {
                writes.append(ValkeyWrite(key: key, value: ByteBuffer(bytes: chunk), expiry: .seconds(3600)))
                size += chunk.count
                guard size >= Self.groupSize else { continue }
                let group = writes
                try await ask { () throws(ValkeyError) in try await wire.write(group) }
                writes = []
                size = 0
            }
        }
        let last = writes
        try await ask { () throws(ValkeyError) in try await wire.write(last) }
    }
}

/// The storing of a record.
private struct ValkeyStore {
    let record: CacheRecord
    /// The version that the stored record must have; `nil` for any.
    var version: String?
    /// Whether the stored record was marked stale when it was read.
    var wasStale = false
    var isStale = false
    /// Whether the chunks of the body are on the server.
    var areChunksStored = false
    /// The watch of the hash, from before it is changed.
    var hashWatch: ValkeyWatch.KeyWatch?

    init(_ record: CacheRecord) { self.record = record }

    var names: [ValkeyName] { ValkeyRow.names(of: record) }
}
#endif
