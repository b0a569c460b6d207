import Diamond
public import Observation

extension Model {
    /// Returns the value of a property, for its getter.
    @inlinable
    public final func read<Owner: Model, Value>(_ property: Property<Owner, Value>, from value: Value) -> Value {
        registrar?.access(unsafeDowncast(self, to: Owner.self), keyPath: property.keyPath)
        return value
    }

    /// Changes a property, for its setter. A value equal to the old one changes nothing, but a repaired property then
    /// counts as set. Texts are equal if their bytes are.
    ///
    /// - Parameters:
    ///   - property: The declaration of the property.
    ///   - old: The stored value.
    ///   - new: The value to store.
    ///   - store: Stores the value.
    @inlinable
    public final func write<Owner: Model, Value: Equatable>(
        _ property: Property<Owner, Value>, from old: Value, to new: Value, store: (Value) -> Void
    ) {
        let texts = property.form.texts
        if old == new, texts?(old, new) ?? true { return confirm(property, value: old) }
        put(property, from: old, to: new, areSame: { $0 == $1 && texts?($0, $1) ?? true }, store: store)
    }

    /// Changes a property that holds a nested model, for its setter.
    @inlinable
    public final func write<Owner: Model, Value: Model>(
        _ property: Property<Owner, Value>, from old: Value, to new: Value, store: (Value) -> Void
    ) {
        if old === new { return }
        put(property, from: old, to: new, areSame: { $0 === $1 }, store: store)
    }

    /// Changes a property that holds a nested model or `nil`, for its setter.
    @inlinable
    public final func write<Owner: Model, Wrapped: Model>(
        _ property: Property<Owner, Wrapped?>, from old: Wrapped?, to new: Wrapped?, store: (Wrapped?) -> Void
    ) {
        if old === new { return }
        put(property, from: old, to: new, areSame: { $0 === $1 }, store: store)
    }

    @inlinable
    final func put<Owner: Model, Value>(
        _ property: Property<Owner, Value>, from old: Value, to new: Value, areSame: (Value, Value) -> Bool,
        store: (Value) -> Void
    ) {
        let isSimple = property.isQuiet && tracking.isPlain
        let keyPath = property.keyPath
        if !isSimple, !accepts(new, for: property) { return }
        registrarIfAny?.willSet(unsafeDowncast(self, to: Owner.self), keyPath: keyPath)
        store(new)
        registrarIfAny?.didSet(unsafeDowncast(self, to: Owner.self), keyPath: keyPath)
        if isSimple {
            let wasDirty = !tracking.dirty.isEmpty
            tracking.markDirty(property, from: old, to: new, areSame: areSame)
            let isToggled = tracking.dirty.isEmpty == wasDirty
            if isToggled { dirtinessDidChange() }
            if tracking.isObserved { report(property, old: old, new: new, hasStateChange: isToggled) }
        } else {
            changed(property, from: old, to: new)
        }
    }

    @usableFromInline
    final func accepts<Owner: Model, Value>(_ value: Value, for property: Property<Owner, Value>) -> Bool {
        var broken = property.policy == .reject ? property.brokenRules(of: value) : []
        if property.key == Self.idKey { broken += brokenIDRules(of: property, json: property.codec.encode(value)) }
        if property.isNested { broken += brokenContextRules(of: property, value: value) }
        reject(property, for: broken)
        return broken.isEmpty
    }

    @usableFromInline
    final func changed<Owner: Model, Value>(_ property: Property<Owner, Value>, from old: Value, to new: Value) {
        transact(source: .user, isSetter: true) {
            removeRepairs(of: property)
            tracking.markDirty(property, from: old, to: new, areSame: property.form.areSame)
            note(PropertyChange(property: property, holder: self, old: old, new: new))
            if property.isNested { adoptNested(new, in: property) }
            if property.key == Self.idKey { setServerID(ModelID(json: property.codec.encode(new))) }
        }
    }

    /// Marks a repaired property as set when it is set to its current value.
    @usableFromInline
    final func confirm<Owner: Model, Value>(_ property: Property<Owner, Value>, value: Value) {
        guard !tracking.repairs.isEmpty, tracking.repairs.contains(where: { $0.key == property.key }) else { return }
        transact(source: .user) {
            tracking.repairs.removeAll { $0.key == property.key }
            tracking.dirty.append(DirtyProperty(property: property, original: Original(value)))
            // The value is equal, but the JSON has it from now on.
            note(PropertyChange(property: property, holder: self, old: value, new: value, isConfirmation: true))
        }
    }
}

// MARK: Transactions

extension Model {
    /// Runs `body`, and reports all its changes to observers and owners in one event.
    public final func transaction<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try transact(source: .user, body)
    }

    /// Runs `body`, and reports its changes in one event.
    ///
    /// - Parameters:
    ///   - isSetter: Whether `body` only sets a property, so that no other model changes meanwhile.
    ///   - isWaiting: Whether the collections above wait for the end. They need not if no values change.
    final func transact<Result, Failure: Error>(
        source: ChangeSource, isSetter: Bool = false, isWaiting: Bool = true, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let transaction = beginTransaction(isSetter: isSetter, isWaiting: isWaiting)
        defer { end(transaction, source: source) }
        return try body()
    }

    /// A transaction that has begun.
    struct Transaction {
        fileprivate let isOutermost: Bool
        fileprivate let waiting: WaitingCollections?
        fileprivate let before: Tracking.SyncState?
    }

    /// Begins a transaction. The caller ends it with ``end(_:source:)``.
    final func beginTransaction(isSetter: Bool = false, isWaiting: Bool = true) -> Transaction {
        let isOutermost = tracking.transactionDepth == 0
        if isOutermost { tracking.flagsBefore = tracking.flags }
        let waiting = isOutermost && !isSetter && isWaiting ? WaitingCollections(above: self) : nil
        let before = isOutermost && !isSetter ? tracking.syncState : nil
        tracking.transactionDepth += 1
        return Transaction(isOutermost: isOutermost, waiting: waiting, before: before)
    }

    final func end(_ transaction: Transaction, source: ChangeSource) {
        tracking.transactionDepth -= 1
        if let before = transaction.before, !tracking.hasSyncState(before) { syncStateDidChange() }
        if transaction.isOutermost { reportPendingChanges(source: source) }
        transaction.waiting?.end()
    }

    /// Adds a change to the event of the transaction.
    final func note(_ change: PropertyChange) {
        if change.property.isNested, change.depth == 0 {
            linkChild(change.new, at: change.property)
            // An observer of the dirtiness has observed the earlier nested model.
            dirtinessDidChange()
        }
        if let index = tracking.pending.firstIndex(where: { $0.isOfSameProperty(as: change) }) {
            tracking.pending[index].new = change.new
        } else {
            tracking.pending.append(change)
        }
    }

    private func reportPendingChanges(source: ChangeSource) {
        let changes = tracking.pending.filter {
            $0.depth > 0 || $0.isConfirmation || !$0.property.areSame($0.old, $0.new)
        }
        tracking.pending = []
        let hasStateChange = takeStateChange()
        if changes.isEmpty, !hasStateChange { return }
        report(ModelEvent(model: self, changes: changes, source: source, hasStateChange: hasStateChange))
    }

    /// Reports a change outside a transaction.
    @usableFromInline
    final func report(_ property: AnyProperty, old: Any, new: Any, hasStateChange: Bool) {
        let change = PropertyChange(property: property, holder: self, old: old, new: new)
        report(ModelEvent(model: self, changes: [change], source: .user, hasStateChange: hasStateChange))
    }

    private func report(_ event: ModelEvent) {
        if !event.changes.isEmpty, let observers = tracking.observers {
            let outer = tracking.isNotifying
            tracking.isNotifying = true
            observers.notify(event)
            tracking.isNotifying = outer
        }
        if tracking.links.count < 2 {
            tracking.links.first?.takeUnretainedValue().receive(event)
            return
        }
        let waiting = WaitingCollections(above: self)
        for link in links { link.receive(event) }
        waiting.end()
    }
}

// MARK: Changes of the state

extension Model {
    /// Notifies the observers of `isNew` and `isDirty` if these have changed in the transaction.
    ///
    /// - Returns: Whether any state has changed.
    private func takeStateChange() -> Bool {
        let (before, after) = (tracking.flagsBefore, tracking.flags)
        let hasOther = tracking.hasOtherStateChange
        tracking.hasOtherStateChange = false
        if before.isNew != after.isNew { stateDidChange(\.isNew) }
        if before.isDirty != after.isDirty { dirtinessDidChange() }
        return hasOther || before != after
    }

    @usableFromInline
    final func dirtinessDidChange() { stateDidChange(\.isDirty) }

    /// Notifies the observers and owners of a change of ``isDirty`` by a nested collection.
    final func nestedDirtinessDidChange() {
        dirtinessDidChange()
        transact(source: .user) { tracking.hasOtherStateChange = true }
    }
}

// MARK: Nested models

extension Model {
    /// Adds the collections whose rows may change with this model, and marks those rows.
    final func addCollections(to waiting: inout WaitingCollections) {
        guard !tracking.isForwarding else { return }
        tracking.isForwarding = true
        for link in tracking.links { link.takeUnretainedValue().addCollections(to: &waiting) }
        tracking.isForwarding = false
    }

    /// Receives a change of the nested model in a property, and reports it as a change of this model.
    final func receive(_ event: ModelEvent, from property: AnyProperty) {
        guard !tracking.isForwarding, event.depth < Self.observedDepth else { return }
        tracking.isForwarding = true
        let changes = event.changes.map { $0.nested(in: property) }
        if tracking.transactionDepth > 0 {
            for change in changes { note(change) }
            if event.hasStateChange { tracking.hasOtherStateChange = true }
        } else {
            report(
                ModelEvent(
                    model: self, changes: changes, source: event.source, hasStateChange: event.hasStateChange))
        }
        tracking.isForwarding = false
    }

    /// Receives a change of a nested collection.
    final func receive(collection change: PropertyChange) {
        transact(source: .user) { tracking.pending.append(change) }
    }

    /// Links all nested models and collections to this model. Does nothing when called again.
    final func linkChildren() {
        guard tracking.nesting == .unknown else { return }
        tracking.nesting = .linked
        for slot in PropertyVisitor.slots(of: self) where slot.property.isNested {
            linkChild(slot.value, at: slot.property)
        }
    }

    private func linkChild(_ value: Any, at property: AnyProperty) {
        tracking.children.removeAll { $0.property === property }
        if let child = property.nestedModel(in: value) {
            tracking.children.append(ChildLink(from: child, to: self, at: property))
        }
        property.nestedCollection(in: value)?.setOwner(self, at: property)
    }
}
