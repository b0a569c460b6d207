#if Valkey
package import Diamond
import DiamondSQLite
import Foundation
import NIOCore

/// Invalidating and erasing.
extension ValkeyStorage {
    /// A change of selected records.
    enum Change: String { case mark, erase, count }

    package func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        // Records that are stale by a stamp are not told from others.
        var count = CacheRecordCount.unknown
        count += try await change(.mark, selections, announcing: names)
        return count
    }

    package func erase(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        try await change(.erase, selections, announcing: names)
    }

    private func change(
        _ change: Change, _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        var count = CacheRecordCount()
        var needsAnnouncement = names != nil || selections.isEmpty
        for selection in selections {
            switch selection.condition {
            case .all: count += try await self.change(change, .all)
            case .name(let name): count += try await self.change(change, ValkeyName(name))
            case .keys(let keys): count += try await self.change(change, keys: keys, announcing: ChangedNames())
            case .storedBefore(let time):
                count += try await sweep(change, before: time)
                needsAnnouncement = true
            case .urlPrefix, .expired:
                count += try await self.change(change, selectedBy: selection.condition)
                needsAnnouncement = true
            }
        }
        // Stamps are reported to the processes that have used them. That is enough if the names are not known.
        if needsAnnouncement { try await announce(names) }
        return count
    }

    /// Changes the records of a name: at once by its stamp, and then each of them.
    private func change(_ change: Change, _ name: ValkeyName) async throws(CacheError) -> CacheRecordCount {
        let key = keys.stamp(of: name)
        let expiry = name.expiry.map { String($0.milliseconds) } ?? ""
        let call = ValkeyCall(
            script: ValkeyScripts.stamp, keys: [key],
            arguments: [change.rawValue, expiry].map { ByteBuffer(string: $0) })
        do throws(ValkeyError) {
            let reply = try await wire.run([call])
            if let time = reply.first?.text.flatMap({ Int64($0) }) { watch.withLock { $0.didChange(key, at: time) } }
        } catch {
            // A full server still removes: records without a stamp are gone.
            guard error.code == .outOfMemory else { throw cacheError(error) }
            try await ask { () throws(ValkeyError) in try await wire.write([ValkeyWrite(key: key, value: nil)]) }
        }
        return change == .erase ? try await sweep(.erase, name: name) : CacheRecordCount()
    }

    /// Changes the records with some keys.
    func change(
        _ change: Change, keys records: [RequestKey], announcing names: ChangedNames
    ) async throws(CacheError) -> CacheRecordCount {
        let calls = zip(records, try await owners(of: records)).map { (key, owner) in
            call(change, in: keys.records(under: owner), record: "\(key)")
        }
        let count = try await run(calls)
        if !names.isEmpty { try await announce(names) }
        return count
    }

    /// Returns the request keys under which records are found: their own, or for variants, those of their requests.
    ///
    /// - Parameter isLookup: whether to ask over the connection that reads: no lookup waits behind a large body.
    func owners(of records: [RequestKey], isLookup: Bool = false) async throws(CacheError) -> [RequestKey] {
        let owners = try await ask { () throws(ValkeyError) in
            try await wire.values(of: records.map(keys.owner), isTracked: isLookup)
        }
        return zip(records, owners).map { (key, owner) in owner.flatMap { RequestKey(String(buffer: $0)) } ?? key }
    }

    private func announce(_ names: ChangedNames?) async throws(CacheError) {
        var message = ByteBuffer(integer: instance)
        if let names { message.writeBytes(names.data) }
        let call = ValkeyCall(script: ValkeyScripts.announce, keys: [keys.channel], arguments: [message])
        _ = try await ask { () throws(ValkeyError) in try await wire.run([call]) }
    }

    // MARK: All records

    private func call(
        _ change: Change, in hash: String, record: String = "", name: ValkeyName? = nil, before time: Int64? = nil
    ) -> ValkeyCall {
        let id = name.map { ByteBuffer(integer: $0.id) } ?? ByteBuffer()
        return ValkeyCall(
            script: ValkeyScripts.change, keys: [hash],
            arguments: [
                ByteBuffer(string: change.rawValue), ByteBuffer(string: record), id,
                ByteBuffer(string: time.map(String.init) ?? ""),
            ])
    }

    private func run(_ calls: [ValkeyCall]) async throws(CacheError) -> CacheRecordCount {
        let replies = try await ask { () throws(ValkeyError) in try await wire.run(calls) }
        var count = CacheRecordCount()
        for case .array(let numbers) in replies {
            guard numbers.count == 2, case .integer(let all) = numbers[0], case .integer(let responses) = numbers[1]
            else {
                continue
            }
            for number in 0..<all { count.add(isResponse: number < responses) }
        }
        return count
    }

    /// Changes the records of a name, or those stored before a time, hash by hash. After a second, the rest of a name's
    /// follows in the background: its stamp has changed, so that nothing finds these records any more.
    func sweep(
        _ change: Change, name: ValkeyName? = nil, before time: Int64? = nil, after start: String? = nil
    ) async throws(CacheError) -> CacheRecordCount {
        // The name of all records has no hash.
        let name = name == .all ? nil : name
        let end = ContinuousClock.now + timing.sweep
        var count = CacheRecordCount()
        let rest = try await forEachPage(after: start) { (hashes) throws(CacheError) in
            count += try await run(hashes.map { call(change, in: $0, name: name, before: time) })
            return time != nil || ContinuousClock.now < end
        }
        if let rest {
            Task { try? await sweep(change, name: name, before: time, after: rest) }
            count += .unknown
        }
        return count
    }

    /// Changes the records that a condition selects, which only their heads tell.
    private func change(_ change: Change, selectedBy condition: CacheCondition) async throws(CacheError)
        -> CacheRecordCount
    {
        var count = CacheRecordCount()
        _ = try await forEachPage { (hashes) throws(CacheError) in
            let records = try await valid(rows(of: hashes, isTracked: false))
            let selected = records.filter { condition.includes($0) && !(change == .mark && $0.isStale) }
            count += try await run(
                selected.map { call(change, in: keys.records(under: $0.requestKey), record: "\($0.key)") })
            return true
        }
        return count
    }

    /// Calls a closure with the hashes of all requests, page by page. A hash that is changed meanwhile may come twice.
    ///
    /// - Parameters:
    ///   - start: the cursor to begin after.
    ///   - body: returns whether to go on.
    /// - Returns: the cursor of the rest; `nil` after the last page.
    func forEachPage(
        after start: String? = nil, _ body: ([String]) async throws(CacheError) -> Bool
    ) async throws(CacheError) -> String? {
        var cursor = start
        repeat {
            let after = cursor
            let page = try await ask { () throws(ValkeyError) in try await wire.scan(keys.anyRecords, after: after) }
            let hashes = page.keys.filter { keys.requestKey(of: $0) != nil }
            cursor = page.cursor
            if try await !body(hashes) { return cursor }
        } while cursor != nil
        return nil
    }
}
#endif
