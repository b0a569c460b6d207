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

    /// Returns the later changes of the model, for one consumer in the model's isolation domain.
    ///
    /// Events are buffered without limit until the consumer reads them. The sequence ends when the model is deallocated,
    /// or when the consumer's task is canceled.
    public final func changes() -> some AsyncSequence<ModelEvent, Never> {
        EventSequence(of: observers) { $0 }
    }

    /// Returns the later changes of a property, with old and new value, as ``changes()`` does.
    public final func changes<Owner: Model, Value>(
        _ property: Property<Owner, Value>
    ) -> some AsyncSequence<ValueChange<Value>, Never> {
        EventSequence(of: observers) { $0[property] }
    }

    fileprivate var observers: Observers<ModelEvent> {
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
    /// Returns the later changes of the value at a key path: of a property, also an inherited or computed one, or of a
    /// nested model's property within ``Model/observedDepth``.
    ///
    /// An event after which the value is equal to the last one is left out.
    public func changes<Value>(_ keyPath: KeyPath<Self, Value>) -> some AsyncSequence<ValueChange<Value>, Never> {
        var last = self[keyPath: keyPath]
        return EventSequence(of: observers) { event in
            guard let model = event.model as? Self else { return nil }
            let new = model[keyPath: keyPath]
            defer { last = new }
            return ExactEquality.areEqual(last, new) ? nil : ValueChange(old: last, new: new)
        }
    }

    /// The id of this object with its class.
    public var typedID: TypedID<Self> { TypedID(modelID) }
}
