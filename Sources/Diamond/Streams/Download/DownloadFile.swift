import DiamondSQLite
import Foundation

/// The file that a body goes into, under a name of its own until it is whole.
///
/// Blocking calls run on a queue: a slow disk holds up the wire, but no thread of a task.
final class DownloadFile: DownloadTarget {
    typealias Write = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

    private struct State {
        var temporary: TemporaryFile?
        var size = 0
        var isComplete = false
    }

    let url: URL
    let limit: Int
    let progress: (@Sendable (TransferProgress) -> Void)?
    private let write: Write
    /// The head and the byte count of the response that is in the file, for a connection that resumes it.
    let resumeSlot = ResumeSlot()
    private let queue = DispatchQueue(label: "diamond.download", qos: .utility)
    private let state = Guarded(State())

    /// Creates a download file that opens nothing before ``open()``. A download that waits for its place holds no
    /// descriptor.
    init(
        later url: URL,
        limit: Int,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        write: @escaping Write = { Foundation.write($0, $1.baseAddress, $1.count) }
    ) {
        (self.url, self.limit, self.progress, self.write) = (url, limit, progress, write)
    }

    /// Opened at once.
    ///
    /// - Throws: `cannotWrite`.
    convenience init(
        _ url: URL,
        limit: Int,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        write: @escaping Write = { Foundation.write($0, $1.baseAddress, $1.count) }
    ) throws(ConnectionError) {
        self.init(later: url, limit: limit, progress: progress, write: write)
        try open()
    }

    var file: URL? { url }
    var size: Int { state.withLock { $0.size } }

    // MARK: The exchange's side

    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// - Throws: `cannotWrite`.
    func open() throws(ConnectionError) {
        do { _ = try opened() } catch { throw ConnectionError(TransportError(cannotWrite: url, error)) }
    }

    /// The temporary file, made where there is none, in the same directory: only there it can take its place at one stroke.
    private func opened() throws -> TemporaryFile {
        let (temporary, isNew) = try state.withLock { state in
            if let known = state.temporary { return (known, false) }
            let new = try TemporaryFile(for: url.path, write)
            state.temporary = new
            return (new, true)
        }
        if isNew { queue.async { temporary.removeAbandoned() } }
        return temporary
    }

    func begin(_ head: Response) async throws(TransportError) {
        resumeSlot.clear()
        try await perform { try $0.empty() }
        state.withLock { $0.size = 0 }
    }

    func append(_ piece: Data) async throws(TransportError) {
        try await perform { try $0.append(piece) }
        state.withLock { $0.size += piece.count }
    }

    func complete() { state.withLock { $0.isComplete = true } }

    // MARK: Its end

    /// Gives the file its name, in place of what has it, when all of it is on the disk.
    func publish() async throws(ConnectionError) {
        do throws(TransportError) { try await perform { [url] in try $0.move(to: url.path) } } catch {
            throw ConnectionError(error)
        }
    }

    /// Without effect where it has its name.
    func discard() { state.withLock { $0.temporary }?.remove() }

    private func perform(
        _ work: @escaping @Sendable (TemporaryFile) throws -> Void
    ) async throws(TransportError) {
        let result = await withCheckedContinuation { waiter in
            queue.async { [self] in waiter.resume(returning: Result { try work(opened()) }) }
        }
        do { try result.get() } catch { throw TransportError(cannotWrite: url, error) }
    }
}

extension TransportError {
    fileprivate init(cannotWrite url: URL, _ error: any Error) {
        let reason = (error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"
        let message = "the file '\(url.path)' cannot be written: \(reason)".printable
        self.init(.notTaken, message, requestMayHaveBeenSent: true, cause: error)
    }
}
