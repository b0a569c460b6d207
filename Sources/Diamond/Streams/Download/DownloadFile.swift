import DiamondSQLite
import Foundation

/// The file that a body is written into, under a temporary name until it is complete.
///
/// Blocking calls run on a queue, so that a slow disk delays the transfer, but blocks no thread of the tasks.
final class DownloadFile: DownloadTarget {
    typealias Write = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

    private struct State {
        var temporary: TemporaryFile?
        var size = 0
        var isComplete = false
        /// The row that names the file, and its cache; `nil` if the received bytes are not recorded.
        var row: KeptDownload?
        var cache: Cache?
        /// Whether the file is published or discarded, and has no row any more.
        var isClosed = false
    }

    let url: URL
    let limit: Int
    let progress: (@Sendable (TransferProgress) -> Void)?
    private let write: Write
    /// The seal of the incomplete file; `nil` if it is in clear.
    private let seal: (any CacheSeal)?
    let resumeSlot = ResumeSlot()
    private let queue = DispatchQueue(label: "diamond.download", qos: .utility)
    private let state = Guarded(State())

    /// Creates a download file. It opens nothing before ``open()``, so that a download that waits for its permit holds
    /// no descriptor.
    init(
        _ url: URL,
        limit: Int,
        seal: (any CacheSeal)? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        write: @escaping Write = { Foundation.write($0, $1.baseAddress, $1.count) }
    ) {
        self.url = url
        self.seal = seal
        self.limit = limit
        self.progress = progress
        self.write = write
    }

    var file: URL? { url }
    var size: Int { state.withLock { $0.size } }

    // MARK: The exchange's side

    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// Whether the store has a row of the file. It may have been erased.
    var isKept: Bool {
        let (row, cache) = state.withLock { ($0.row, $0.cache) }
        guard let row, let cache else { return false }
        return cache.has(row)
    }

    /// Creates the temporary file.
    ///
    /// - Throws: `cannotWrite`.
    func open() throws(ConnectionError) {
        do { _ = try opened() } catch { throw ConnectionError(TransportError(cannotWrite: url, error)) }
    }

    /// Returns the temporary file, created on first use in the directory of the target, because a rename is atomic only
    /// within one file system.
    private func opened() throws -> TemporaryFile {
        let (temporary, isNew) = try state.withLock { state in
            if let known = state.temporary { return (known, false) }
            let new = try TemporaryFile(for: url.path, seal: seal, write)
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

    // MARK: The end

    /// Syncs the file to the disk and renames it to its target, in place of any file there.
    func publish() async throws(ConnectionError) {
        do throws(TransportError) { try await perform { [url] in try $0.move(to: url.path) } } catch {
            // A sealed part that has no room to be opened stays.
            if seal != nil { state.withLock { $0.isComplete = false } }
            throw ConnectionError(error)
        }
        close()
    }

    /// Removes the temporary file and its row. Has no effect after ``publish()``.
    func discard() {
        state.withLock { $0.temporary }?.remove()
        close()
    }

    private func close() {
        state.withLock { $0.isClosed = true }
        removeRow()
    }

    private func perform<Value: Sendable>(
        _ work: @escaping @Sendable (TemporaryFile) throws -> Value
    ) async throws(TransportError) -> Value {
        let result = await withCheckedContinuation { waiter in
            queue.async { [self] in waiter.resume(returning: Result { try work(opened()) }) }
        }
        do { return try result.get() } catch { throw TransportError(cannotWrite: url, error) }
    }
}

/// The functions for the ``DownloadRecorder`` of the file.
extension DownloadFile: RecordingSink {
    func recorder(of plan: ExchangePlan, in store: ResponseStore) -> (any BodyRecording)? {
        plan.context.isContinuable ? DownloadRecorder(plan.context, into: self, in: store) : nil
    }

    /// The absolute path of the complete file.
    var target: String {
        let path = url.path
        return path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    // MARK: The row

    var row: KeptDownload? { state.withLock { $0.row } }

    /// Sets the row; removes it instead if the file is published or discarded.
    func set(_ row: KeptDownload, in cache: Cache) {
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.row = row
            state.cache = cache
            return false
        }
        if isClosed { cache.removeRecord(of: row) }
    }

    func removeRow() {
        let (row, cache) = state.withLock { state in
            defer { state.row = nil }
            return (state.row, state.cache)
        }
        if let row { cache?.removeRecord(of: row) }
    }

    // MARK: The bytes

    enum Adoption {
        /// The file is continued after this number of bytes, at least 1.
        case adopted(size: Int)
        /// Another download writes the file, or its seal cannot open it now.
        case inUse
        /// The file is missing, too short, not one that Diamond has written, or its bytes have changed since.
        case unusable
    }

    /// Continues the file of an earlier download instead of its own, which is empty.
    func adopt(_ download: KeptDownload) async -> Adoption {
        await withCheckedContinuation { waiter in
            queue.async { [self] in waiter.resume(returning: adopted(download)) }
        }
    }

    private func adopted(_ download: KeptDownload) -> Adoption {
        guard let path = download.path else { return .unusable }
        let descriptor: Int32
        switch PartFile.open(path) {
        case .opened(let opened): descriptor = opened
        case .inUse: return .inUse
        case .unusable: return .unusable
        }
        let sealed = seal.map { SealedPart($0, id: download.contentID) }
        let kept = TemporaryFile(kept: path, open: descriptor, sealed: sealed, write)
        let size: Int
        do {
            size = try kept.restore(ReceivedBytes(size: download.size, digest: download.digest))
        } catch {
            // The seal may open it later.
            return error is POSIXError ? .unusable : .inUse
        }
        guard size > 0 else { return .unusable }
        let unused = state.withLock { state in
            defer {
                state.temporary = kept
                state.size = size
            }
            return state.temporary
        }
        unused?.remove()
        return .adopted(size: size)
    }

    /// Returns the values by which a row names the file with all bytes received so far.
    ///
    /// - Parameter isSynced: whether the file is synced to the disk before.
    func part(isSynced: Bool) async throws(TransportError) -> ReceivedPart {
        try await perform { try $0.part(isSynced: isSynced) }
    }

    /// Gives the file a name that other processes leave. Called when a row has the name: a process that is killed
    /// before leaves no file that nothing names.
    func keep() async throws(TransportError) { try await perform { try $0.keep() } }

    /// Gives a kept file another name, so that no row names it.
    func release() async { try? await perform { try $0.release() } }
}

extension TransportError {
    fileprivate init(cannotWrite url: URL, _ error: any Error) {
        let posix = (error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
        let reason = posix ?? CacheSealError.reason(of: error)
        let message = "the file '\(url.path)' cannot be written: \(reason)".printable
        self.init(.destinationFailed, message, serverMayHaveActed: true, cause: error)
    }
}
