import Diamond

/// A long page that is applied in pieces, each with a change set of its own. Other work of the isolation domain runs
/// between them.
final class PageApplication {
    /// The maximum number of rows of a piece. Adding as many to a long, sorted list takes a few milliseconds.
    static let pieceSize = 150

    /// The place of the items in the collection.
    enum Place {
        /// The items replace the content.
        case all
        /// New items are added at the end.
        case end
        /// New items are added at the top.
        case top
    }

    let place: Place
    /// The logical time (``SyncOrder``) of the response.
    let time: SyncTime
    let items: [JSONItem]
    /// The index of the first item with each id.
    private var indexes: [ModelID: Int]
    /// The items that were not applied yet.
    private var rest: ArraySlice<JSONItem>
    /// The models of the applied items of a page that replaces the content, in their order.
    var models: [Model] = []
    /// The number of changes of the insertion order that follows from the pieces so far. The app has changed the order
    /// if there were others.
    var orderChanges = 0
    /// The models of the removed rows. Only recorded while other members are set here than the server has.
    var removed: [Model] = []
    /// The number of rows that the current piece may still remove.
    var removals = 0
    /// Whether the rows that the page does not have were removed.
    var hasRemovedOthers = false

    init(_ items: [JSONItem], indexes: [ModelID: Int], at place: Place, time: SyncTime) {
        self.items = items
        self.indexes = indexes
        self.place = place
        self.time = time
        rest = items[...]
    }

    /// Returns the index of the first item with each id. Runs outside of the collection's isolation domain.
    @concurrent
    static func indexes(of items: [JSONItem], idKey: String) async -> [ModelID: Int] {
        var indexes: [ModelID: Int] = [:]
        indexes.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            guard let id = ObjectMembers(item)?.id(at: idKey), indexes[id] == nil else { continue }
            indexes[id] = index
        }
        return indexes
    }

    var isAtStart: Bool { rest.count == items.count }
    var isComplete: Bool { rest.isEmpty && (place != .all || hasRemovedOthers) }

    /// Removes and returns the items of the next piece. Those for the top are taken from the end: if the load is
    /// canceled, no row is missing below the new ones.
    func takeItems() -> ArraySlice<JSONItem> {
        removals = Self.pieceSize
        let fromEnd = place == .top
        var (count, length) = (0, 0)
        while count < min(rest.count, Self.pieceSize), length <= PagePreparation.pieceLength {
            count += 1
            length += (fromEnd ? rest[rest.endIndex - count] : rest[rest.startIndex + count - 1]).length
        }
        defer { rest = fromEnd ? rest.dropLast(count) : rest.dropFirst(count) }
        return fromEnd ? rest.suffix(count) : rest.prefix(count)
    }

    /// Whether the item at an index is the first one with its id.
    func isFirst(_ id: ModelID, at index: Int) -> Bool { indexes[id] == index }

    /// Whether the page has an item with an id that can be read.
    func has(_ id: ModelID) -> Bool { indexes[id] != nil }

    /// Notes that the item with an id cannot be read.
    func forget(_ id: ModelID) { indexes[id] = nil }
}

extension JSONItem {
    /// The length of the text in bytes; 0 for a value.
    fileprivate var length: Int { if case .element(let element, _) = self { element.text.count } else { 0 } }
}

extension CollectionCore {
    /// Applies a long page in pieces. ``apply(_:of:)`` then applies what is left, and moves the position on. If the
    /// content is replaced between two pieces, that is the whole page.
    ///
    /// - Parameters:
    ///   - load: The load of the page.
    ///   - time: The logical time of the response.
    ///   - isCurrent: Returns whether the page will still be applied.
    nonisolated(nonsending) func applyPieces(
        of page: Page, of load: Load, at time: SyncTime, while isCurrent: () -> Bool
    ) async {
        let indexes = await PageApplication.indexes(of: page.content, idKey: type.idKey)
        guard isCurrent(), let context else { return }
        if application?.time != time {
            // A page that cannot be applied changes nothing.
            guard let place = try? place(of: page, for: load) else { return }
            let count = max(0, indexes.count - entries.count)
            reserveEntries(entries.count + count)
            context.reserve(count)
            application = PageApplication(page.content, indexes: indexes, at: place, time: time)
        }
        while isCurrent(), let application, application.time == time, !application.isComplete {
            context.applyingAnswer(of: time) { applyPiece(of: application) }
            await Task.yield()
        }
    }

    /// The application of the page whose response is being applied; `nil` if none was begun.
    var currentApplication: PageApplication? {
        application.flatMap { $0.time == context?.answerTime ? $0 : nil }
    }

    /// Applies what is left of a page.
    func complete(_ application: PageApplication) {
        reading {
            while !application.isComplete { applyPiece(of: application) }
            if application.place == .all { completeContent(of: application) }
        }
    }

    /// Ends the application of a page that is not applied to its end. The server has the rows that were applied, but for
    /// those that the app has removed since: these removals are unsaved. It has the rows no more that the page has
    /// removed, also if the app has added them again.
    func endApplication() {
        guard let application else { return }
        self.application = nil
        guard application.place == .all, syncedIDs != nil else { return }
        let removed = Set(application.removed.flatMap { $0.tracking.ids })
        syncedIDs?.removeAll(where: removed.contains)
        confirmMembership(of: application.models.filter { entry(of: $0) != nil })
        compareSyncedMembers()
    }

    private func applyPiece(of application: PageApplication) {
        reading {
            if application.isAtStart { begin(application) }
            // Membership is confirmed with each piece, so that what the app changes after it is unsaved.
            switch application.place {
            case .all: applyContent(of: application)
            case .end: confirmMembership(of: merge(application.takeItems(), isFirst: application.isFirst))
            case .top: confirmMembership(of: mergeAtTop(application.takeItems(), isFirst: application.isFirst))
            }
        }
    }

    private func begin(_ application: PageApplication) {
        application.orderChanges = order.changes
        if application.place != .all { return removeRejections(of: application.items) }
        if !rejected.isEmpty { rejected = [] }
    }

    // MARK: The whole content

    /// Applies a piece of a page that replaces the content: merges and places the next items, or removes rows that the
    /// page does not have.
    private func applyContent(of application: PageApplication) {
        let items = application.takeItems()
        confirming {
            if items.isEmpty { return removeOthers(of: application) }
            read(
                items, isFirst: application.isFirst,
                refused: { json, error in
                    if let member = member(refusing: json, because: error) { return put(member, of: application) }
                    guard error.code != .duplicateID, let id = try? id(of: json) else { return }
                    application.forget(id)
                }, receive: { put($0, of: application) })
        }
    }

    /// Places the model of an item after that of the last one.
    private func put(_ model: Model, of application: PageApplication) {
        var next = nextEntry(of: application)
        application.models.append(model)
        guard let entry = entry(of: model) else {
            application.orderChanges += 1
            return insert(revivedEntry(of: model) ?? Entry(model, in: self), at: .before(next), reason: .added)
        }
        while let other = next, other !== entry, application.removals > 0, isOther(other.model, than: application) {
            next = other.next
            remove(other, of: application)
        }
        if entry !== next || entry.isPinned {
            move(entry, before: entry === next ? entry.next : next, of: application)
        }
    }

    /// The entry after that of the last item in the insertion order.
    private func nextEntry(of application: PageApplication) -> Entry? {
        for model in application.models.reversed() { if let entry = entry(of: model) { return entry.next } }
        return order.first
    }

    private func move(_ entry: Entry, before next: Entry?, of application: PageApplication) {
        application.orderChanges += 2
        removeRow(of: entry, reason: .moved)
        order.remove(entry)
        order.insert(entry, before: next)
        if isVisible(entry.model) { place(entry, reason: .moved) }
    }

    /// Returns whether a page neither has a member nor preserves it.
    private func isOther(_ model: Model, than application: PageApplication) -> Bool {
        !application.has(model.untrackedID) && !isUnsaved(model, at: application.time)
    }

    private func remove(_ entry: Entry, of application: PageApplication) {
        remove(entry)
        if syncedIDs != nil { application.removed.append(entry.model) }
        application.orderChanges += 1
        application.removals -= 1
    }

    private func removeOthers(of application: PageApplication) {
        var next = nextEntry(of: application)
        while let entry = next, application.removals > 0 {
            next = entry.next
            if isOther(entry.model, than: application) {
                remove(entry, of: application)
            } else if entry.isPinned {
                move(entry, before: next, of: application)
            }
        }
        application.hasRemovedOthers = next == nil
    }

    /// Takes the order of a page whose pieces were applied. Only if the app has changed the order between two of them,
    /// it is not known.
    private func completeContent(of application: PageApplication) {
        if application.orderChanges == order.changes {
            hasChangedMembers = nextEntry(of: application) != nil
            if hasChangedMembers { syncedIDs = application.models.map(\.untrackedID) }
            return
        }
        // The app has removed the others.
        let models = application.models.filter { entry(of: $0) != nil }
        let unsaved = unsavedModels(notIn: models)
        replaceMembers(models + unsaved)
        let synced = application.models.map(\.untrackedID).filter { !isGone($0) }
        hasChangedMembers = !unsaved.isEmpty || models.count < synced.count
        if hasChangedMembers { syncedIDs = synced }
    }
}
