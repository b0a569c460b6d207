/// The transactions of a collection: changes, their commit, and the notification of observers.
extension CollectionCore {
    func transaction<Result, Failure: Error>(
        origin: ChangeOrigin? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        beginTransaction(origin: origin)
        defer { endTransaction() }
        return try body()
    }

    /// Begins a transaction. The caller ends it with ``endTransaction()``.
    func beginTransaction(origin: ChangeOrigin? = nil) {
        if depth == 0 { self.origin = origin }
        depth += 1
    }

    func endTransaction() {
        depth -= 1
        guard depth == 0 else { return }
        reportRejections()
        commit()
        report(nil)
        reportDirtiness()
    }

    /// Runs a transaction whose changes are not the user's.
    func reading(_ body: () -> Void) {
        let outer = isReading
        isReading = true
        defer { isReading = outer }
        transaction(body)
    }

    var isInTransaction: Bool { depth > 0 }

    // MARK: Waiting for events

    /// Whether changes of models are being reported. Their rows are updated at the end, all together.
    var isWaiting: Bool { reports > 0 }

    func addCollections(to waiting: inout WaitingCollections) { owner?.addCollections(to: &waiting) }

    func beginWaiting() {
        beginTransaction()
        reports += 1
    }

    /// Marks a row whose model may change.
    func wait(for entry: Entry) {
        guard !entry.isWaiting else { return }
        entry.isWaiting = true
        waiting.append(entry)
    }

    func endWaiting() {
        reports -= 1
        if reports == 0 { updateWaiting() }
        endTransaction()
    }

    private func updateWaiting() {
        let entries = waiting
        waiting = []
        for entry in entries { entry.isWaiting = false }
        let changed = entries.filter(\.isChanged)
        for entry in changed { entry.isChanged = false }
        updateRows(of: changed)
    }

    /// Marks an entry as changed in this transaction.
    func touch(_ entry: Entry) {
        begin()
        guard !entry.isTouched else { return }
        entry.isTouched = true
        touched.append(entry)
    }

    /// Notifies the observers of ``rejected``, unless the rows have changed, too.
    private func reportRejections() {
        guard hasOtherRejections else { return }
        hasOtherRejections = false
        if hasBegun { return }
        collection?.willChangeContent()
        collection?.didChangeContent()
    }

    private func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        collection?.willChangeContent()
        willObservers.notify(())
    }

    private func commit() {
        guard hasBegun else { return }
        dropEmptySections()
        let changes = didObservers.isEmpty ? nil : changes()
        let hadOtherMembers = hasOtherMembers
        commitRows()
        collection?.didChangeContent()
        if let changes { deliver(changes) }
        // Changes of models have already been forwarded to the owner.
        if hadOtherMembers { notifyOwner() }
    }

    private func deliver(_ changes: CollectionChanges) {
        if isDelivering { return undelivered.append(changes) }
        isDelivering = true
        didObservers.notify(changes)
        while !undelivered.isEmpty { didObservers.notify(undelivered.removeFirst()) }
        isDelivering = false
    }

    /// Makes the current state the last committed one.
    func commitRows() {
        for section in changedSections { section.rows.commit() }
        if hasOtherSections || !changedSections.isEmpty || snapshot != nil { oldCounts = sections.map(\.rows.count) }
        changedSections.removeAll(keepingCapacity: true)
        if hasOtherSections {
            for section in committed { section.oldIndex = nil }
            for (index, section) in sections.enumerated() { (section.oldIndex, section.index) = (index, index) }
            committed = sections
            hasOtherSections = false
        }
        for entry in touched {
            entry.commitPlace()
            entry.isTouched = false
            entry.isUpdated = false
            if !entry.isMember { entry.detach() }
        }
        if snapshot != nil { for entry in order { entry.commitPlace() } }
        snapshot = nil
        touched.removeAll(keepingCapacity: touched.count < 100)
        hasBegun = false
        hasOtherMembers = false
        generation += 1
    }

    /// Saves the rows of the last commit, before all rows are rearranged.
    func takeSnapshot() {
        begin()
        if snapshot == nil { snapshot = committed.map { ($0, $0.rows.oldEntries) } }
    }

    /// Called before rows of a section are inserted or removed.
    func rowsWillChange(in section: SectionRecord) {
        cachedOffsets = nil
        if !section.rows.isTouched { changedSections.append(section) }
    }
}
