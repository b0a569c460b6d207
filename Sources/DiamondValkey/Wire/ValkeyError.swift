#if Valkey
/// A failure of the connection to a server, or of an answer. No message has a password, a key or a value.
package struct ValkeyError: Error, Hashable, CustomStringConvertible {
    /// The kind of a failure.
    package enum Code: Sendable {
        /// The address is no URL of a server.
        case badAddress
        /// There is no connection, and none can be made at once.
        case unreachable
        /// The answer took too long.
        case timeout
        /// Too many commands wait for answers.
        case busy
        /// The server refused a command.
        case refused
        /// The server is out of memory and evicts nothing.
        case outOfMemory
        /// The server answered with something else than the protocol or the command allows.
        case badAnswer
        /// The connection was closed by this program.
        case closed
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter command: the command's name.
    init(_ refusal: RESPRefusal, command: String) {
        // Only the code: a message may quote an argument.
        // Redis 6 has the error of a command in a script in the message of another.
        let isFull = refusal.code == "OOM" || refusal.code == "ERR" && refusal.message.contains("-OOM ")
        code = isFull ? .outOfMemory : .refused
        message =
            isFull
            ? "the server has no memory for \(command): raise its maxmemory, or set maxmemory-policy to allkeys-lru"
            : "the server refused \(command) with \(refusal.code.filter { $0.isLetter || $0.isNumber })"
    }

    package var description: String { message }
}
#endif
