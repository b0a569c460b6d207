extension Model {
    /// Calls `receive` after every transaction that changes the model, until the token is deallocated.
    public final func observe(_ receive: @escaping (ModelEvent) -> Void) -> ObserverToken {
        observers.add(receive)
    }

    /// Calls `receive` after every transaction that changes a property, until the token is deallocated.
    public final func observe<Owner: Model, Value>(
        _ property: Property<Owner, Value>, receive: @escaping (ValueChange<Value>) -> Void
    ) -> ObserverToken {
        observers.add { event in
            if let change = event[property] { receive(change) }
        }
    }

    /// Returns the later changes of the model.
    public final func changes() -> EventSequence<ModelEvent> {
        changes { $0 }
    }

    /// Returns the later changes of a property, with old and new value.
    public final func changes<Owner: Model, Value>(
        _ property: Property<Owner, Value>
    ) -> EventSequence<ValueChange<Value>> {
        changes { $0[property] }
    }

    fileprivate func changes<Element>(_ element: @escaping (ModelEvent) -> Element?) -> EventSequence<Element> {
        EventSequence { [observers] buffer in
            observers.add(
                { [weak buffer] event in element(event).map { buffer?.append($0) } },
                finish: { [weak buffer] in buffer?.finish() })
        }
    }

    private var observers: Observers<ModelEvent> {
        if let observers = tracking.observers { return observers }
        linkChildren()
        let observers = Observers<ModelEvent>()
        tracking.observers = observers
        return observers
    }
}

/// The protocol of models whose extensions need the static class of the model (`Self`).
public protocol ModelObject: AnyObject {}

extension Model: ModelObject {}

extension ModelObject where Self: Model {
    /// Returns the later changes of a property, by its key path.
    public func changes<Value>(_ keyPath: KeyPath<Self, Value>) -> EventSequence<ValueChange<Value>> {
        changes { event in
            let change = event.changes.first { $0.path.count == 1 && $0.property.anyKeyPath == keyPath }
            guard let change, let old = change.old as? Value, let new = change.new as? Value else { return nil }
            return ValueChange(old: old, new: new)
        }
    }

    /// The id of this object with its class.
    public var typedID: TypedID<Self> { TypedID(modelID) }
}
