// Names that the rooms in rework still use.
package typealias Awaited<Value: Sendable> = Promise<Value>
typealias FirstInFirstOut<Element> = FIFOQueue<Element>
typealias Room = Signal
typealias RunningTasks = TaskSet
typealias StreamObservers<Element: Sendable> = Listeners<AsyncStream<Element>.Continuation>

extension Promise {
    @discardableResult
    package func tell(_ value: Value) -> Bool { fulfill(with: value) }
}

extension Signal {
    func open() { wake() }
}

extension Listeners {
    mutating func takeAll() -> [Listener] { removeAll() }
}
