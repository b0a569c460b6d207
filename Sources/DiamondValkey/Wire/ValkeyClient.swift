#if Valkey
import Diamond
package import NIOCore

/// A wire over two connections to one server. One reads entries, and is told their changes. The other transfers chunks,
/// and writes: no lookup waits behind a large body.
package final class ValkeyClient: ValkeyWire {
    private let lookups: ValkeyLink
    private let transfers: ValkeyLink
    private let timing: ValkeyTiming

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - channel: the channel of announcements.
    ///   - draw: returns a random number from 0 up to 1, for the delay before another attempt to connect.
    ///   - onEvent: called on an event loop; it must return quickly.
    package init(
        _ address: ValkeyAddress,
        channel: String,
        group: any EventLoopGroup,
        timing: ValkeyTiming = ValkeyTiming(),
        draw: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        onEvent: @escaping @Sendable (ValkeyEvent) -> Void
    ) throws(ValkeyError) {
        self.timing = timing
        let connecting = timing.connecting
        let tracking = try ValkeyDialer(
            address, group: group, clientName: "diamond", channel: channel, timeout: connecting)
        let bulk = try ValkeyDialer(
            address, group: group, clientName: "diamond-bodies", channel: nil, timeout: connecting)
        lookups = ValkeyLink(tracking, timing: timing, draw: draw) { event in
            switch event {
            case .connected: onEvent(.connected)
            case .lost(let error): onEvent(.lost(error))
            case .time(let time): onEvent(.time(time))
            case .push(let values): ValkeyEvent(push: values).map(onEvent)
            }
        }
        transfers = ValkeyLink(bulk, timing: timing, draw: draw) { _ in }
    }

    package var silence: Duration? { lookups.silence }

    package func close() {
        lookups.close()
        transfers.close()
    }

    package func values(of keys: [String], isTracked: Bool) async throws(ValkeyError) -> [ByteBuffer?] {
        if keys.isEmpty { return [] }
        let replies = try await read(keys.map { RESPCommand("GET", $0) }, isTracked: isTracked)
        var values: [ByteBuffer?] = []
        for reply in replies {
            switch reply {
            case .bulk(let bytes): values.append(bytes)
            case .null: values.append(nil)
            // A key of another program has another type. It is none of ours.
            case .error(let refusal) where refusal.code == "WRONGTYPE": values.append(nil)
            default: throw Self.error(reply, command: "GET")
            }
        }
        return values
    }

    package func fields(of keys: [String], isTracked: Bool) async throws(ValkeyError) -> [[ValkeyField]] {
        if keys.isEmpty { return [] }
        let replies = try await read(keys.map { RESPCommand("HGETALL", $0) }, isTracked: isTracked)
        var hashes: [[ValkeyField]] = []
        for reply in replies {
            switch reply {
            case .map(let items): hashes.append(Self.fields(items))
            case .error(let refusal) where refusal.code == "WRONGTYPE": hashes.append([])
            default: throw Self.error(reply, command: "HGETALL")
            }
        }
        return hashes
    }

    private func read(_ commands: [RESPCommand], isTracked: Bool) async throws(ValkeyError) -> [RESPValue] {
        try await isTracked
            ? lookups.send(commands, within: timing.lookup) : transfers.send(commands, within: timing.transfer)
    }

    private static func fields(_ items: [RESPValue]) -> [ValkeyField] {
        stride(from: 0, to: items.count - 1, by: 2).compactMap { index in
            guard let name = items[index].text, let value = items[index + 1].bytes else { return nil }
            return ValkeyField(name: name, value: value)
        }
    }

    package func write(_ writes: [ValkeyWrite]) async throws(ValkeyError) {
        if writes.isEmpty { return }
        for reply in try await transfers.send(writes.map(\.command), within: timing.transfer) {
            switch reply {
            case .simple, .integer: break
            default: throw Self.error(reply, command: "SET")
            }
        }
    }

    package func run(_ calls: [ValkeyCall]) async throws(ValkeyError) -> [RESPValue] {
        if calls.isEmpty { return [] }
        // Over the connection that tracks, whose own changes are not reported to it.
        let results = try await lookups.send(calls.map(\.command), within: timing.transfer)
        for case .error(let refusal) in results { throw ValkeyError(refusal, command: "EVAL") }
        return results
    }

    package func scan(_ pattern: String, after cursor: String?) async throws(ValkeyError) -> ValkeyPage {
        let command = RESPCommand("SCAN", cursor ?? "0", "MATCH", pattern, "COUNT", "250")
        let reply = try await transfers.send([command], within: timing.transfer)[0]
        guard case .array(let parts) = reply, parts.count == 2, let next = parts[0].text, let keys = parts[1].items
        else {
            throw Self.error(reply, command: "SCAN")
        }
        return ValkeyPage(keys: keys.compactMap(\.text), cursor: next == "0" ? nil : next)
    }

    private static func error(_ reply: RESPValue, command: String) -> ValkeyError {
        guard case .error(let refusal) = reply else {
            return ValkeyError(.badAnswer, "the cache's server answered \(command) with another type")
        }
        return ValkeyError(refusal, command: command)
    }
}

extension ValkeyEvent {
    /// - Parameter values: a pushed message. Those of other kinds are of no interest.
    fileprivate init?(push values: [RESPValue]) {
        switch (values.first?.text, values.count) {
        case ("invalidate", 2): self = .changed(values[1].items?.compactMap(\.text))
        case ("message", 3):
            guard let bytes = values[2].bytes else { return nil }
            self = .announced(bytes)
        default: return nil
        }
    }
}

extension ValkeyCall {
    fileprivate var command: RESPCommand {
        // The server forgets who has read a key that changes: EXISTS reads it, with no change of another client between
        // the two. Not in a transaction: a full server refuses those, also if they only remove.
        let script =
            isTracked
            ? "local function run() \(script)\nend local result = run() redis.call('EXISTS', KEYS[1]) return result"
            : script
        var command = RESPCommand(
            "EVAL", argumentCount: 2 + keys.count + arguments.count,
            capacity: arguments.reduce(script.utf8.count + 96 * keys.count + 96) { $0 + $1.readableBytes + 16 })
        command.add(script)
        command.add(String(keys.count))
        for key in keys { command.add(key) }
        for argument in arguments { command.add(argument) }
        return command
    }
}

extension ValkeyWrite {
    fileprivate var command: RESPCommand {
        guard let value else { return RESPCommand("UNLINK", key) }
        var command = RESPCommand(
            "SET", argumentCount: expiry == nil ? 2 : 4, capacity: 128 + value.readableBytes)
        command.add(key)
        command.add(value)
        if let expiry {
            command.add("PX")
            command.add(String(max(1, expiry.milliseconds)))
        }
        return command
    }
}
#endif
