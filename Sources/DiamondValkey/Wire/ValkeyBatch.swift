#if Valkey
import NIOCore

/// Commands that are written together, and their replies so far. It is used by one thread at a time: first by the
/// sender, then by the event loop.
final class ValkeyBatch {
    typealias Completion = @Sendable (Result<[RESPValue], ValkeyError>) -> Void

    /// The names of the commands that are answered.
    let names: [String]
    let bytes: ByteBuffer
    /// The time at which the sender stops waiting.
    let deadline: NIODeadline
    private(set) var replies: [RESPValue] = []
    private var completion: Completion?

    init(_ commands: [RESPCommand], deadline: NIODeadline, completion: @escaping Completion) {
        // A subscription is answered by a push.
        names = commands.map(\.name).filter { $0 != "SUBSCRIBE" }
        bytes =
            commands.count == 1
            ? commands[0].bytes
            : commands.reduce(into: ByteBuffer()) {
                $0.writeImmutableBuffer($1.bytes)
            }
        self.deadline = deadline
        self.completion = completion
        replies.reserveCapacity(commands.count)
    }

    var count: Int { names.count }

    /// Whether the sender still waits.
    var isAwaited: Bool { completion != nil }

    /// Adds a reply.
    ///
    /// - Returns: whether it was the last one.
    func add(_ reply: RESPValue) -> Bool {
        replies.append(reply)
        return replies.count == count
    }

    /// Gives the sender its result. Later results are dropped.
    func complete(_ result: Result<[RESPValue], ValkeyError>) {
        guard let completion else { return }
        self.completion = nil
        completion(result)
    }
}
#endif
