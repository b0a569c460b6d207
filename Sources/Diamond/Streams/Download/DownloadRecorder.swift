import Foundation
import HTTPTypes

/// Records how much of a file one exchange has received, and finds what an earlier exchange has received.
///
/// | earlier exchange | found by |
/// |---|---|
/// | of the same download | the ``ResumeSlot`` of its file |
/// | of another download, in any process | a row of the cache's store |
///
/// A response is recorded if it can be resumed, and may be stored under the key of its request. The file itself tells
/// how many of its bytes are right (``ReceivedBytes``, ``SealedPart``), so that a killed process loses almost nothing.
/// The row names bytes that a power failure does not destroy. The exchange that finds a row requests the rest, and the
/// server confirms that it belongs to the same representation (``ResumeDecision``).
actor DownloadRecorder: CacheRecording {
    /// The number of bytes after which a row is written. A shorter download has none.
    static let firstStep = 256 << 10
    /// The number of bytes after which the file is synced, and its row written again.
    static let step = 4 << 20

    let context: RequestContext
    let store: ResponseStore
    let position: LogPosition
    private let file: DownloadFile

    /// The head of the response that is being received.
    private var head: ReceivedResponse?
    /// The number of its received bytes.
    private var count = 0
    /// The number of bytes that the row names, or that a failed write would have named.
    private var recorded = 0
    /// The number of bytes at the last sync.
    private var synced = 0
    /// Whether nothing more is recorded, because writing has failed, or the row was erased meanwhile.
    private var isRefused = false

    init(_ context: RequestContext, into file: DownloadFile, in store: ResponseStore) {
        self.context = context
        self.store = store
        self.file = file
        position = store.invalidations.position
    }

    /// The cache that records downloads. The rows are of private caches only.
    private var cache: Cache? { store.kind == .private ? store.cache : nil }

    /// Notes the number of bytes that the row names.
    private func note(_ size: Int) {
        recorded = size
        synced = size
    }

    // MARK: Finding

    func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        if let own = file.resumeSlot.remove(for: request, where: isWanted(since:)) {
            note(file.row?.size ?? 0)
            return .some(own)
        }
        // The bytes in the file are of no use for this request, so the next response replaces them.
        await clear()
        // A reload uses no stored response.
        guard file.size == 0, context.policy.mode != .reload, let cache, let identity = context.identity else {
            return .none
        }
        do throws(CacheError) {
            let downloads = try cache.downloads(
                of: identity.key, request: identity.canonicalForm, to: file.target)
            return await adopted(from: downloads, in: cache)
        } catch {
            store.lookup.report(error)
            return .none
        }
    }

    private func adopted(from downloads: [KeptDownload], in cache: Cache) async -> IndirectOptional<PartialResponse> {
        for download in downloads {
            guard PartialResponse(download) != nil else {
                cache.drop(download)
                continue
            }
            switch await file.adopt(download) {
            case .adopted(let size):
                var download = download
                download.size = size
                file.set(download, in: cache)
                // The download was canceled meanwhile. A file without the name of a kept one is removed when it is
                // closed.
                guard file.row != nil else {
                    await file.release()
                    return .none
                }
                note(size)
                return IndirectOptional(PartialResponse(download))
            case .inUse: continue
            case .unusable: cache.drop(download)
            }
        }
        return .none
    }

    // MARK: Receiving

    func begin(_ response: PartialResponse) async {
        head = response.received
        count = response.content.received.count
        isRefused = false
        if count == 0 { await clear() }
        // The head of the rest may forbid what the first one has allowed.
        if file.row != nil, entry == nil { await refuse() }
    }

    // The body of a response that cannot be resumed is not recorded.
    func open(_ head: ReceivedResponse) -> Bool {
        self.head = nil
        return false
    }

    func append(_ piece: Data) async -> Bool {
        guard head != nil else { return false }
        count += piece.count
        if count - synced >= Self.step {
            await record()
        } else if recorded == 0, count >= Self.firstStep {
            await record(isSynced: false)
        }
        return false
    }

    /// The entry of the response, if it were stored; `nil` if it may not be stored, or if its key is that of a variant.
    private var entry: CacheEntry? {
        guard let head, cache != nil, isWanted, !head.isPersonal else { return nil }
        let decision = store.decision(on: head, to: context)
        guard decision.fields == nil else { return nil }
        return decision.stored.flatMap { context.entry($0) }
    }

    /// - Parameter isSynced: whether the file is synced to the disk before. A sync takes milliseconds.
    private func record(isSynced: Bool = true) async {
        guard !isRefused else { return }
        guard let cache, cache.keepsParts, let entry else { return await refuse() }
        let size = count
        recorded = size
        if isSynced { synced = size }
        do {
            let part = try await file.part(isSynced: isSynced)
            var download =
                file.row
                ?? KeptDownload(entry, part: part.name, for: file.target, size: size, writtenAt: cache.now())
            download.size = size
            download.digest = part.digest
            download.contentID = part.contentID
            download.writtenAt = cache.now()
            file.set(try await cache.record(download), in: cache)
            try await file.keep()
            // The identity may have logged out meanwhile, and the row must not outlive the logout.
            if !isWanted { await refuse() }
        } catch let error as CacheError {
            store.lookup.report(error)
            // An older row stays valid if the disk is full.
            if error.code == .entryGone || file.row == nil { await refuse() } else { isRefused = true }
        } catch {
            // The download itself will fail for the same reason.
            await refuse()
        }
    }

    /// Stops recording, and removes the row.
    private func refuse() async {
        isRefused = true
        await clear()
    }

    // MARK: Ending

    /// Removes the row: the next response replaces the bytes.
    func discard() async {
        head = nil
        count = 0
        await clear()
    }

    /// Removes the row, after its file has another name: a process that is killed between leaves no file that nothing
    /// names.
    private func clear() async {
        note(0)
        guard file.row != nil else { return }
        await file.release()
        file.removeRow()
    }

    func save(_ response: PartialResponse, for request: TransportRequest) async {
        file.resumeSlot.put(response, for: request, at: position)
        // The file of a canceled task is discarded. That of a connection stays if it is paused.
        guard context.caller.run != nil || !Task.isCancelled else { return }
        if count >= Self.firstStep, count > recorded { await record() }
    }

    nonisolated func cancel() {}
}

extension PartialResponse {
    /// Creates the partial response of a recorded download; `nil` if it cannot be resumed.
    fileprivate init?(_ download: KeptDownload) {
        let head = ReceivedResponse(
            status: HTTPResponse.Status(code: download.status), headers: download.headers, body: Data(),
            sentAt: download.receivedAt, receivedAt: download.receivedAt, isInSink: true)
        self.init(head, count: download.size)
    }
}
