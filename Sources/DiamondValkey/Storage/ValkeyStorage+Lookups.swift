#if Valkey
package import Diamond
import DiamondSQLite
package import Foundation
import NIOCore

/// Lookups.
extension ValkeyStorage {
    package func records(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord] {
        if let records = try await stored(under: key, bodyLimit: bodyLimit) { return records }
        // A variant is found under the key of its request.
        guard let owner = try await owners(of: [key], isLookup: true).first, owner != key else { return [] }
        return try await (stored(under: owner, bodyLimit: bodyLimit) ?? []).filter { $0.key == key }
    }

    /// Returns the records of a hash; `nil` if there is no such hash.
    private func stored(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord]? {
        let hash = keys.records(under: key)
        let hashWatch = watch.withLock { $0.begin(hash) }
        let rows = try await rows(of: [hash], isTracked: true)
        guard !rows.isEmpty else { return nil }
        let stamps = try await stamps(of: names(of: rows), isTracked: true)
        let records = valid(rows, given: stamps)
        for record in records { hold(record, by: hashWatch, stamps) }
        return try await withBodies(records, limit: bodyLimit)
    }

    package func chunks(_ numbers: Range<Int>, of record: CacheRecord) async throws(CacheError) -> [Data]? {
        if ValkeyRow.hasBody(record) {
            let records = try await records(under: record.requestKey, bodyLimit: 0)
            guard let same = records.first(where: { $0.key == record.key && $0.bodyID == record.bodyID }),
                same.chunks.indices.contains(numbers.lowerBound) || numbers.isEmpty,
                numbers.upperBound <= same.chunks.count
            else { return nil }
            return Array(same.chunks[numbers])
        }
        let names = keys.chunks(numbers, of: ValkeyRow.bodyName(of: record), under: record.requestKey)
        return try await chunks(names)
    }

    /// Returns chunks; `nil` if one is missing.
    private func chunks(_ names: [String]) async throws(CacheError) -> [Data]? {
        let values = try await ask { () throws(ValkeyError) in try await wire.values(of: names, isTracked: false) }
        let chunks = values.compactMap { $0.map { Data($0.readableBytesView) } }
        return chunks.count == names.count ? chunks : nil
    }

    /// Reads the bodies that have keys of their own. A record without one of its chunks is no record.
    private func withBodies(_ records: [CacheRecord], limit: Int) async throws(CacheError) -> [CacheRecord] {
        var complete: [CacheRecord] = []
        for record in records {
            guard !ValkeyRow.hasBody(record), record.bodySize <= limit else {
                complete.append(record)
                continue
            }
            if let chunks = try await chunks(0..<record.chunkCount, of: record) {
                complete.append(record.with(chunks: chunks))
            }
        }
        return complete
    }

    // MARK: Rows

    /// Returns the rows of some hashes. A damaged one is no row.
    func rows(of hashes: [String], isTracked: Bool) async throws(CacheError) -> [ValkeyRow] {
        let fields = try await ask { () throws(ValkeyError) in try await wire.fields(of: hashes, isTracked: isTracked) }
        return fields.flatMap { fields in
            let marked = Set(fields.lazy.map(\.name).filter { $0.hasSuffix(".s") })
            return fields.compactMap { field in
                field.name.utf8.count == 64 ? ValkeyRow(field.value, isStale: marked.contains(field.name + ".s")) : nil
            }
        }
    }

    /// Returns the records of rows as the stamps of their names leave them.
    func valid(_ rows: [ValkeyRow]) async throws(CacheError) -> [CacheRecord] {
        valid(rows, given: try await stamps(of: names(of: rows), isTracked: false))
    }

    private func valid(_ rows: [ValkeyRow], given stamps: KnownStamps) -> [CacheRecord] {
        rows.compactMap { row in row.record(given: ValkeyRow.names(of: row.record).map { stamps.values[$0] }) }
    }

    private func names(of rows: [ValkeyRow]) -> Set<ValkeyName> {
        Set(rows.flatMap { ValkeyRow.names(of: $0.record) })
    }

    /// Remembers that memory may have a record now.
    ///
    /// - Parameters:
    ///   - hashWatch: the watch of its hash.
    ///   - stamps: the stamps of its names, which are tracked.
    func hold(_ record: CacheRecord, by hashWatch: ValkeyWatch.KeyWatch, _ stamps: KnownStamps) {
        let watches = ValkeyRow.names(of: record).compactMap { stamps.watches[$0] }
        watch.withLock { $0.hold([record.key.prefix, record.requestKey.prefix], by: [hashWatch] + watches) }
    }

    // MARK: Stamps

    /// The stamps of the names that have one, and the watches of all, if they are tracked.
    struct KnownStamps {
        var values: [ValkeyName: ValkeyStamp] = [:]
        var watches: [ValkeyName: ValkeyWatch.KeyWatch] = [:]
    }

    /// Returns the stamps of names.
    ///
    /// - Parameter isTracked: whether they are remembered.
    func stamps(of names: Set<ValkeyName>, isTracked: Bool) async throws(CacheError) -> KnownStamps {
        var known = KnownStamps()
        var missing: [ValkeyName] = []
        watch.withLock { watch in
            for name in names {
                let key = keys.stamp(of: name)
                if isTracked { known.watches[name] = watch.begin(key, isCommon: name.isCommon) }
                if let stamp = watch.stamp(key) { known.values[name] = stamp } else { missing.append(name) }
            }
        }
        guard !missing.isEmpty else { return known }
        let wanted = missing.map(keys.stamp)
        let values = try await ask { () throws(ValkeyError) in try await wire.values(of: wanted, isTracked: isTracked) }
        watch.withLock { watch in
            for (name, value) in zip(missing, values) {
                guard let stamp = value.flatMap(ValkeyStamp.init) else { continue }
                known.values[name] = stamp
                if let keyWatch = known.watches[name] { watch.set(stamp, during: keyWatch) }
            }
        }
        return known
    }

    /// Returns the stamps of names, for records to store. Names without a stamp get one.
    func stampsForStoring(_ names: Set<ValkeyName>) async throws(CacheError) -> KnownStamps {
        var known = try await stamps(of: names, isTracked: true)
        let missing = Array(names.filter { known.values[$0] == nil })
        guard !missing.isEmpty else { return known }
        let new = ValkeyStamp(newAt: watch.withLock { $0.time }).bytes
        let calls = missing.map { name in
            ValkeyCall(
                script: ValkeyScripts.newStamp, keys: [keys.stamp(of: name)],
                arguments: [new, ByteBuffer(string: name.expiry.map { String($0.milliseconds) } ?? "")])
        }
        // A change over the other connection would be reported to this process, as one by another.
        let replies = try await ask { () throws(ValkeyError) in try await wire.run(calls) }
        watch.withLock { watch in
            for (name, reply) in zip(missing, replies) {
                guard let stamp = reply.bytes.flatMap(ValkeyStamp.init) else { continue }
                known.values[name] = stamp
                if let keyWatch = known.watches[name] { watch.set(stamp, during: keyWatch) }
            }
        }
        return known
    }
}
#endif
