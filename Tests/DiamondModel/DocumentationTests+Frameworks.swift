import DiamondModel
import DiamondTable
import DiamondTesting
import Foundation

/// The code of the page for those who come from other frameworks. Never called: compiling it is the test.
extension DocumentationTests {
    // MARK: The draft of Diamond

    private func draftOfRequests(engine: Engine) async throws {
        var request = Request("cities", parameters: ["country": "DE"])  // DiamondRequest
        request.parameters["page"] = 2  // variable parameters
        print(try await engine.send(request).text)  // reusable: sending does not change it
        print(try await engine.key(of: request))  // the key of the cache: the request, not its URL
        let text = try request.json()  // NSCoding, to JSON
        print(try Request(json: text) == request)  // from JSON: true
        let second = request  // NSCopying: assignment copies
        request.retry = .interactive  // sent again when the connection fails
        print(second)
    }

    private func draftOfConnections(engine: Engine, request: Request, second: Request, login: Connection)
        async throws
    {
        let connection = engine.connection(for: request)  // DiamondConnection
        connection.addDependency(login)  // queued with dependencies
        connection.onResult { result in print(result) }  // callback
        engine.start(connection)
        connection.pause()
        print(connection.isExecuting, connection.isFinished, connection.isPaused)
        connection.resume()
        for await state in connection.states { print(state) }  // KVO of the state, functional reactive programming
        let archive = try connection.snapshot.json()  // NSCoding: does not change the connection
        let restored = engine.connection(from: try ConnectionSnapshot(json: archive))
        engine.start(connection.copied())  // NSCopying: with the original request
        let batch = engine.batch([request, second])  // grouped batch work
        engine.start(batch)
        print("\(batch.completed) of \(batch.count)")
        print(restored)
    }

    private enum Declarations {
        // readonly: changed by merging JSON
        static let id: Property<City, Int> = Property(\.id, "id", access: .server)
        // validation against 0
        static let population: Property<City, Int> = Property(\.population, "population", rules: [.nonZero])
    }

    private func draftOfModels(
        text: Data, context: ModelContext, cities: ModelCollection<City>, images: ResourceLoader<Picture>, town: Town
    ) async throws {
        let city = try City(json: text)  // initWithJSON: every property has a default value
        print(city.repairs)  // no null properties: these were null or missing, and have defaults
        print(city.json)  // to JSON, including unknown members
        let copy = city.copy()  // NSCopying
        let archive = try JSONEncoder().encode(city)  // NSCoding
        let token = city.observe { event in print(event.changes.map(\.key)) }  // mutations of inherited properties, too
        for await change in city.changes(\.name) { print(change.old, change.new) }  // data binding with a view
        try city.merge(["population": 1_450_000])  // merging new JSON: notifies observers
        try city.validate()  // validation
        try await city.save()  // CRUD: create and update
        try await city.load()  // read
        try await city.destroy()  // delete
        let live = try context.model(City.self, from: city.json)  // one live instance for each id
        let members = cities.observeModels { event in print(event.model.modelID) }  // its collections observe it
        let portrait = RemoteValue(images, default: Picture()) { town.portraitURL }  // cache property of an image URL
        print(copy, archive, token, live, members, portrait)
    }

    private func draftOfCollections(cities: ModelCollection<City>, city: City, other: City) throws {
        try cities.add(city)  // addObject:, in the order of the sort keys
        try cities.append(other)  // pushObject:, at the end, whatever the sort keys are
        try cities.insert(other, at: 0)  // insertObject:atIndex:
        print(cities.popLast()?.name ?? "")  // popObject
        cities.remove(city)  // removeObject:
        cities.removeAll { $0.population == 0 }  // removeObjectsPassingTest:
        try cities.move(from: 3, to: 0)  // moveObjectFromIndex:toIndex:
        try cities.swapAt(0, 1)  // exchangeObjectAtIndex:withObjectAtIndex:
        try cities.replace(at: 0, with: other)  // replaceObjectAtIndex:withObject:
        cities.sortKeys = [.by(\.population, named: "population"), .by(\.name, named: "name")]  // sortDescriptors, sort
        cities.sortKeys = []  // sortDescriptors = nil: the insertion order
        cities.filters["large"] = Filter { $0.population > 1_000_000 }  // filterPredicates: add one
        cities.filters["large"] = nil  // filterPredicates: remove one
        cities.filters["old"] = Filter(#Predicate { $0.population > 0 })  // NSPredicate
        cities.filters["hidden"] = Filter { $0.modelID != 7 }  // hideObject:
        cities.filters["hidden"] = nil  // unhideAllObjects
        print(cities.count, cities.allModels.count)  // orderedSet, actualOrderedSet
        do {
            let token = cities.observeEvents { event in
                switch event {
                case .willChange: print("begin")  // collectionWillChangeContent:
                case .didChange(let changes):  // collectioDidChangeContent:, collection:didChangeObject:atIndex:…
                    print(changes.insertions.map(\.reason))  // DIACollectionMutationTypeInsert, and its reason
                    print(changes.deletions.map(\.reason))  // DIACollectionMutationTypeDelete
                    print(changes.moves.map { ($0.from, $0.to) })  // DIACollectionMutationTypeMove
                    print(changes.updates.map(\.new))  // DIACollectionMutationTypeUpdate
                }
            }
            cities.observedDepth = 2  // recursive, or only the first level, which is the default
            print(token)
        }
    }

    private func draftOfSources(
        cities: ModelCollection<City>, capitals: ModelCollection<City>, city: City, text: Data, engine: Engine
    ) async throws {
        try cities.set(text)  // from JSON
        print(cities.json)  // to JSON
        let copy = cities.copy(.models)  // NSCopying: of the collection, or also of its models
        let archive = try JSONEncoder().encode(cities)  // NSCoding, with the position in the source
        cities.source = PageSource(engine, Request("cities"), paging: .offset(limit: 50))  // its resource and offset
        try await cities.load()  // fetch
        try await cities.next()  // getNext: the source stores the position
        try await cities.sync()  // sync
        try await cities.upload()  // push
        print(copy, archive)
        cities.sectionRule = .initials(of: \.name)  // sectionNameKeyPath, in the order of the kana
        print(cities[RowPath(section: 0, row: 2)]?.name ?? "")  // objectAtIndexPath:
        print(cities.path(of: city) ?? "")  // indexPathForObject:
        print(cities.sections.map(\.title), cities.sectionIndexTitles)  // sections
        print(cities.section(forIndexTitle: "か"))  // sectionForSectionIndexTitle:atIndex:
        let source = TableSource([.collection(cities, editing: RowEditing())])  // table changes reach the collection
        try cities.formUnion(capitals)  // a set: union
        cities.formIntersection(capitals)  // intersection
        cities.subtract(capitals)  // difference
        print(cities.filter { !$0.isNew }.map(\.name))  // Underscore.m: filter, map, pluck
        print(Dictionary(grouping: cities, by: \.mayor.name))  // Underscore.m: groupBy
        print(source)
    }

    // MARK: Three20

    private func threeTwentyModels(cities: ModelCollection<City>, forecast: Forecast, engine: Engine) async throws {
        print(cities.isLoaded, cities.isLoading, cities.isLoadingMore, cities.isOutdated)  // the states of TTModel
        try await cities.load(policy: .reload)  // load:TTURLRequestCachePolicyNetwork more:NO
        try await cities.load(more: true)  // load:more:YES
        try await cities.loadIfNeeded()  // shouldLoad, shouldReload
        print(cities.hasContent)  // canShowModel
        cities.cancel()  // cancel
        try await cities.invalidate()  // invalidate:NO
        try await cities.invalidate(erase: true)  // invalidate:YES
        cities.reset()  // reset
        print(ModelCollection<City>().isLoaded)  // TTModel without a source: static data counts as loaded
        try await forecast.load()  // a TTModel of your own
        cities.source = PageSource(engine, Request("cities"), paging: .page(size: 20))  // TTURLRequestModel
        print(cities.loadState.loadedAt ?? "never")  // loadedTime
        cities.loadState.expiry = .seconds(86_400)  // invalidationAge
        print(cities.hasMore)  // hasNoMore
        print(cities.loadState.error ?? "none")  // modelError
        let loading = cities.observeLoading { cities, event in
            switch event {
            case .started(let isMore): print("started", isMore)  // modelDidStartLoad:
            case .finished: print(cities.count)  // modelDidFinishLoad:
            case .failed(let error): print(error)  // model:didFailLoadWithError:
            case .canceled: print("unchanged")  // modelDidCancelLoad:
            case .reset: print("treat it as new")  // modelDidChange:
            case .invalidated: print("outdated")  // without a counterpart
            }
        }
        let content = cities.observeEvents { event in
            switch event {
            case .willChange: print("begin")  // modelDidBeginUpdates:
            case .didChange(let changes):  // modelDidEndUpdates:
                print(changes.updates.map { ($0.model, $0.new) })  // model:didUpdateObject:atIndexPath:
                print(changes.insertions.map { ($0.model, $0.path) })  // model:didInsertObject:atIndexPath:
                print(changes.deletions.map { ($0.model, $0.path) })  // model:didDeleteObject:atIndexPath:
            }
        }
        loading.cancel()  // [model.delegates removeObject:self]
        try cities.transaction { try cities.move(from: 3, to: 0) }  // beginUpdates, endUpdates
        print(content)
        do {
            let presenter = LoadPresenter(cities)  // TTModelViewController
            presenter.describeError = { _ in "Try again later." }  // titleForError:, subtitleForError:
            let shown = presenter.observe { presentation in
                switch presentation {
                case .nothing: print("")
                case .loading: print("Loading…")  // showLoading:, titleForLoading:
                case .content: print(cities.count)  // showModel:
                case .empty: print("No cities")  // showEmpty:, titleForEmpty
                case .error(let message): print(message)  // showError:
                case .offline: print("No network")  // showError: if no server could be reached
                }
            }
            await presenter.appear()  // viewWillAppear:, refresh, reloadIfNeeded
            presenter.disappear()  // viewDidDisappear: reports nothing until the view appears again
            await presenter.retry()  // reload, like the button of TTErrorView
            await presenter.refresh()  // a reload by the user, as by pulling a list
            await presenter.loadMore()  // shouldLoadMore
            presenter.model = forecast  // invalidateModel, setModel: the earlier one is ignored
            print(presenter.presentation, presenter.isRefreshing)  // invalidateView, updateView: the current state
            print(shown)
        }
    }

    private func threeTwentyRequests(
        engine: Engine, data: Data, file: URL, images: ResourceLoader<Picture>
    ) async throws {
        var form = Request("cities", method: .post)  // requestWithURL:delegate:, urlPath, httpMethod
        form.parameters["country"] = "DE"  // parameters
        form.destination = .form  // multiPartForm = NO
        var request = Request("photos", method: .post)
        request.headers[.accept] = "application/json"  // headers, setValue:forHTTPHeaderField:
        request.body = .bytes(data, contentType: "text/plain")  // httpBody, contentType
        // addFile:mimeType:fileName:
        request.body = .multipart([MultipartPart("photo", file: file, contentType: "image/jpeg")])
        request.timeout = .seconds(30)  // timeoutInterval
        request.cacheKey = "cities of Germany"  // cacheKey
        request.tags = ["cities"]  // userInfo, TTUserInfo topic
        request.rules.secrets = ["pin"]  // filterPasswordLogging
        let response = try await engine.send(request)  // sendSynchronously
        // send, requestDidFinishLoad:, request:didFailLoadWithError:, requestDidCancelLoad:
        let connection = engine.send(request) { result in print(result) }
        for await state in connection.states { print(state) }  // requestDidStartLoad:, isLoading
        print(response.source == .cache)  // respondedFromCache
        print(response.headers[.age] ?? "0")  // timestamp, as the age in seconds
        for await progress in connection.progress {
            print(progress.sent, progress.expectedToSend ?? 0)  // requestDidUploadData:, totalBytesLoaded
            print(progress.received, progress.expectedToReceive ?? 0)  // totalBytesDownloaded, totalContentLength
        }
        connection.cancel()  // cancel
        print(form)
        request.cache = .automatic(maxAge: .seconds(604_800))  // TTURLRequestCachePolicyDefault, cacheExpirationAge
        request.cache = .cacheElseNetwork  // TTURLRequestCachePolicyDisk with TT_CACHE_EXPIRATION_AGE_NEVER
        request.cache = .cacheOnly  // TTURLRequestCachePolicyLocal
        request.cache = .revalidate  // TTURLRequestCachePolicyEtag
        request.cache = .reload  // TTURLRequestCachePolicyNetwork
        request.cache = .noStore  // TTURLRequestCachePolicyNoCache, TTURLRequestCachePolicyNone
        let towns = try await engine.send(request.decoding([String].self))  // request:processResponse:data:
        print(response.body)  // TTURLDataResponse
        print(try response.decode(JSONValue.self))  // TTURLJSONResponse
        let picture = try await images.value(of: "https://example.com/kyoto.jpg")  // TTURLImageResponse
        do throws(ConnectionError) {
            print(try await engine.send(request.decoding([String].self)))
        } catch {
            print(error.response?.status ?? .ok, error.problem?.detail ?? "")  // processErrorResponse:, responsedata
        }
        print(towns, picture)
    }

    private func threeTwentyQueue(session: any CredentialProvider) async throws {
        var request = Request("cities")
        var configuration = Engine.Configuration(store: Store(named: "Three20"))  // cacheWithName:
        configuration.width = 5  // concurrent loads
        configuration.bodyLimit = 150_000  // maxContentLength
        configuration.headers[.userAgent] = "Towns/1.0"  // userAgent
        configuration.cookies = CookieJar()  // shouldHandleCookies
        configuration.retry = RetryPolicy(attempts: 3)  // another attempt after NSURLErrorCannotFindHost
        configuration.credentials = session  // request:didReceiveAuthenticationChallenge:
        configuration.redirectLimit = 5  // request:willSendRequest:redirectResponse:
        let engine = Engine(configuration)  // TTURLRequestQueue, mainQueue
        let owner = CancellationOwner()
        owner.own(engine.send(request) { result in print(result) })  // TTUserInfo weakRef
        owner.cancel()  // cancelRequestsWithDelegate:
        engine.cancel { $0.request.tags.contains("cities") }  // cancelRequest:, for all requests of a topic
        engine.cancel { _ in true }  // cancelAllRequests
        engine.lanes.pauseAll()  // suspended = YES: the cache still answers
        engine.lanes.resumeAll()  // suspended = NO
        let indicator = engine.activity.indicator()  // TTNetworkRequestStarted, TTNetworkRequestStopped
        try await engine.invalidate(request)  // invalidateURL:, invalidateKey:
        try await engine.cache?.invalidate(.all)  // invalidateAll
        try await engine.purge(request)  // removeURL:fromDisk:, removeKey:
        try await engine.cache?.purge()  // removeAll:
        request.cache = .cacheOnly
        let stored = try await engine.send(request)
        print(stored.source != .generated, stored.body)  // hasDataForURL:, dataForURL:
        print(try await engine.key(of: request))  // keyForURL:
        let uncached = Engine(Engine.Configuration(store: nil))  // disableDiskCache
        let images = ResourceLoader(engine, capacity: 64 << 20) { data, _ in try Picture(data) }  // maxPixelCount
        print(images.existing("https://example.com/kyoto.jpg") ?? Picture())  // imageForURL:fromDisk:
        images.removeAll()  // a memory warning
        print(indicator, uncached)
    }

    private func threeTwentyTables(
        cities: ModelCollection<City>, city: City, display: any TableDisplay, connection: Connection
    ) async {
        let registry = RepresentationRegistry(fallback: { _ in ViewRepresentation(CityCell.self) { _ in } })
        let labels = RepresentationRegistry<String>(fallback: { "? \($0)" }, onUnknown: { unknown in print(unknown) })
        let part = TablePart.collection(cities, editing: RowEditing())
        let source = TableSource([part], loading: cities)  // TTTableViewDataSource and its model
        let list = TableSource([.rows(["Nara", "Kyoto"])])  // TTListDataSource
        // TTSectionedDataSource dataSourceWithObjects:
        let sectioned = TableSource([.rows(["Nara"], header: "Old"), .collection(cities, header: "All")])
        print(source.representedObject(at: RowPath(section: 0, row: 0)) ?? "")  // tableView:objectForRowAtIndexPath:
        print(source.path(of: city) ?? "")  // tableView:indexPathForObject:, indexPathOfItemWithUserInfo:
        // tableView:cellClassForObject:, setObject:, tableView:cell:willAppearAtIndexPath:
        registry.register(City.self, as: CityCell.self) { cell, city, _ in cell.text = city.name }
        labels.register(City.self) { city, _ in city.name }  // tableView:labelForObject:
        print(labels.representation(of: city))
        print(source.title(of: 0) ?? "", source.footer(of: 0) ?? "")  // tableView:titleForHeaderInSection:
        cities.sectionRule = .initials(of: \.name)  // lettersForSectionsWithSearch:summary:
        print(source.sectionIndexTitles, source.section(forIndexTitle: "K"))  // sectionForSectionIndexTitle:atIndex:
        print(source.remove(at: RowPath(section: 0, row: 0)))  // removeItemAtIndexPath:andSectionIfEmpty:
        print(source.presentation)  // TTTableViewInterstitialDataSource: loading
        source.describeError = { _ in "Try again later." }  // subtitleForError:
        source.onSelection(of: City.self) { city, path in print(city.name, path) }  // didSelectObject:atIndexPath:
        print(sectioned)
        let controller = TableController(source)  // TTTableViewController
        controller.display = display  // its tableView
        controller.source = list  // dataSource = …
        controller.isEditing = true  // setEditing:animated:
        print(source.more)  // TTTableMoreButton, and its isLoading
        await source.loadMore(showing: RowPath(section: 0, row: 18))  // TTTableFooterInfiniteScrollView
        source.prefetchDistance = 10  // loads when fewer rows follow the visible one
        await source.refresh()  // TTTableViewDragRefreshDelegate
        print(cities.loadState.loadedAt ?? "never")  // setUpdateDate:
        await source.retry()  // reload after an error
        connection.queuePriority = .low  // instead of a queue that is suspended while the table scrolls
    }

    private func threeTwentySearch(
        engine: Engine, cities: ModelCollection<City>, images: ResourceLoader<Picture>, town: Town
    ) async throws {
        let search = SearchDebouncer { text in
            try await engine.send(Request("cities", parameters: ["q": text])).body
        } receive: { outcome in
            switch outcome {
            case .found(let data, _): try? cities.set(data)  // modelDidFinishLoad:
            case .failed(let error, _): print(error)
            case .reset: cities.removeAll()  // search:nil
            }
        }
        await search.search("kyo")  // TTTableViewDataSource search:, TTSearchDisplayController pausesBeforeSearching
        let image = RemoteValue(images, default: Picture()) { town.portraitURL }  // TTImageView, defaultImage, urlPath
        try await image.load()  // reload; canceling the task is stopLoading
        print(image.value)  // image, or the default image
        switch image.state {
        case .none: print("no image")
        case .loading: print("…")  // imageViewDidStartLoad:
        case .loaded(let picture): print(picture)  // imageView:didLoadImage:
        case .failed(let error): print(error)  // imageView:didFailLoadWithError:
        }
        image.clear()  // unsetImage
        print(cities.total ?? -1, cities.count - 1, cities.hasMore)  // numberOfPhotos, maxPhotoIndex, hasMore
    }

    // MARK: LTAPIRequest, LTModel

    struct Login: Endpoint {  // a subclass of LTAPIRequest
        typealias Output = [String: String]  // +APIResponseClass, -parseJSON
        let name: String
        var request: Request {  // -prepareRequest
            Request("login", method: .post, body: .json(["name": name]))  // initWithAPI:method:params:
        }
    }

    struct ErrorAlert: Interceptor {
        func transform(_ error: inout ConnectionError) async {  // -showErrorAlert
            await showAlert(error.problem?.detail ?? "This did not work.")
        }
    }

    private func ltapiRequests(town: Town) async throws {
        var configuration = Engine.Configuration()
        configuration.baseURL = "https://api.example.com/v1/"  // the host of prepareRequest
        configuration.interceptors = [ResponseValidator(), ErrorAlert()]  // -success, -showErrorAlert
        configuration.lanes = ["api": .serial, "images": LaneLimits(width: 3)]  // APIRequestQueue, imageRequestQueue
        let engine = Engine(configuration)
        let answer = try await engine.send(Login(name: "anna"))  // sendRequestWithCallback:
        var request = Request("timeline")
        request.lane = "api"  // one after the other: each waits for the earlier callback
        engine.send(request, on: .main) { result in  // a callback on the main thread
            guard case .success(let response) = result else { return }
            print(response.status, response.headers)  // HTTPResponse
            print(response.body)  // responseData
        }
        let images = ResourceLoader<Picture>(engine) { url in  // the image cache
            var request = Request(url)
            request.lane = "images"
            return request
        } decode: { data, _ in
            try Picture(data)
        }
        let portrait = RemoteValue(images, default: Picture()) { town.portraitURL }  // a cell that checks its URL
        let log = engine.activity.observe { event in print(event) }  // LTAPIRequestDebug
        let indicator = engine.activity.indicator()  // beginNetworkConnection, endNetworkConnection
        for await isVisible in indicator.visibility { print(isVisible) }
        print(answer, portrait, log)
    }

    private nonisolated final class Tweet: Model {
        override class var idKey: String { "_id" }  // +IDKey
        override class func object(in response: Response) throws -> ObjectMembers? {  // json, without its envelope
            try super.object(in: response)?.object(at: "status")
        }
    }

    private func ltModels(
        city: City, district: District, cities: ModelCollection<City>, context: ModelContext, engine: Engine,
        json: JSONValue
    ) throws {
        print(city["name"] ?? .null)  // attributeForKey:
        city["name"] = "Ōsaka"  // setAttribute:forKey:
        try city.merge(["name": "Ōsaka"])  // mergeAttributesFromDictionary:
        try city.transaction {
            city.removeAll()  // removeAllAttributes
            try city.replace(["name": "Kōbe"])  // replaceAttributesFromDictionary:
        }
        try city.remove("population")  // removeAttributeForKey:
        print(city.snapshot)  // attributes
        let tweet = try context.model(City.self, from: json)  // +modelWithID: with the attributes
        let known = try context.model(City.self, from: ["id": 7])  // +modelWithID:, which creates a missing model
        print(context.existing(City.self, id: 7) === known)  // +modelWithID:, if it exists
        print(city.modelID, city.isNew)  // ID, isCreating
        print(city.mayor.name)  // tweet.byUser: an embedded object is the live instance with its id
        print(district.city.model(in: context)?.name ?? "")  // a weak link to the parent, encoded by its id
        let archive = try JSONEncoder().encode(cities.json)  // encodeModelStore
        try cities.set(archive)  // decodeModelStore: merged into the live instances
        let fresh = ModelContext(engine: engine)  // clearAllModelStore
        print(tweet, fresh)
    }

    private func ltCollections(
        cities: ModelCollection<City>, city: City, draft: City, list: City, engine: Engine
    ) async throws {
        cities.source = PageSource(
            engine, Request("timeline"), paging: .items(before: "max_id", after: "since_id"),
            format: PageFormat(items: "statuses"))
        try await cities.refresh()  // refreshWithCallback: adds new items at the top
        try await cities.next()  // loadMoreWithCallback: no row twice
        let token = cities.observe { changes in
            print(changes.insertions.map(\.path.row))  // insertedIndexSet, itemsChanged, collectionChanged
        }
        let item = city.observe { event in print(event.changes.map(\.key)) }  // the notification of a model
        try await city.save { $0.name = "Nara" }  // setDone:callback: visible at once, undone if it fails
        try await cities.create(draft)  // addTodoItem:callback: is optimistic
        try await cities.create(list, .wait)  // a new list is inserted after success
        cities.delete(city)  // deleted at once, and on the server with the next upload
        try await cities.upload()
        print(token, item)
        let transport = StubTransport { request throws(TransportError) in  // the mock server
            request.url.hasSuffix("/timeline") ? .stub(body: #"{"statuses": []}"#) : .stub(status: 404)
        }
        let mocked = Engine(.init(testing: transport))
        print(mocked)
    }

    // MARK: Lighter view controllers, dispatch by class

    private func lighterViewControllers(
        registry: RepresentationRegistry<ViewRepresentation>, labels: RepresentationRegistry<String>, photos: [Any],
        cities: ModelCollection<City>, city: City, path: RowPath
    ) throws {
        let source = TableSource([.rows(photos)])  // initWithItems:cellIdentifier:configureCellBlock:
        // configureCellBlock
        registry.register(City.self, as: CityCell.self) { cell, city, _ in cell.text = city.name }
        // one cell for several models, by a protocol
        registry.register((any Named).self, as: CityCell.self) { cell, named, _ in cell.text = named.name }
        registry.register(Person.self, as: CityCell.self) { cell, person, state in
            cell.text = person.name  // configureForPhoto:
            cell.isEmphasized = state.contains(.highlighted)  // setHighlighted:animated:
        }
        registry.representation(of: city).configure(CityCell())  // tableView:cellForRowAtIndexPath:
        print(source.representedObject(at: RowPath(section: 0, row: 0)) ?? "")  // itemAtIndexPath:
        print(source.numberOfRows(in: 0))  // tableView:numberOfRowsInSection:
        let table = SimulatedTable(source)  // a mock table view in a test
        print(table)
        let editing = RowEditing<City>(canRemove: { !$0.isNew })  // tableView:canEditRowAtIndexPath:
        let editable = TableSource([.collection(cities, editing: editing)])
        editable.remove(at: path)  // tableView:commitEditingStyle:forRowAtIndexPath:
        editable.move(from: path, to: RowPath(section: 0, row: 2))  // tableView:moveRowAtIndexPath:toIndexPath:
        try cities.remove(at: 0)  // the model's own delete
        try cities.move(from: 0, to: 2)  // and reorder
        let controller = TableController(source)  // one controller
        controller.source = editable  // another data source of the same controller
        print(source.representedObject(at: path) ?? "")  // representedObjectAtIndexPath:
        source.select(path)  // tableView:didSelectRowAtIndexPath:
        let card = TableSource([
            .fields(of: city, [.value(\.name), .value(\.population), .model(\.mayor)])  // rows of unrelated types
        ])
        print(card)
        labels.register(City.self) { city, _ in city.name }  // tableView:cellForCityAtIndexPath:
        labels.register(Person.self) { person, _ in person.name }  // another class, without an else if
        labels.register(Animal.self) { animal, _ in animal.name }  // its subclasses, too
        labels.register(City.self, in: .detail) { city, _ in city.name.uppercased() }  // in another table
        source.onSelection(of: City.self) { city, _ in print(city.name) }  // if ([object isKindOfClass:[City class]])
        source.onSelection(of: Any.self) { object, _ in print(object) }  // else
    }

    // MARK: AFNetworking

    private func afNetworking(
        engine: Engine, requests: [Request], stream: AsyncStream<Data>, file: URL, session: any CredentialProvider,
        pin: String, images: ResourceLoader<Picture>, town: Town
    ) async throws {
        var request = Request("cities")
        var configuration = Engine.Configuration()
        do {
            let connection = engine.start(request)  // AFHTTPRequestOperation, AFJSONRequestOperation
            connection.pause()  // pause
            connection.resume()  // resume: Range and If-Range, and the response is checked
            print(connection.state)  // AFOperationState
            connection.completionBlock = { print("finished") }  // completionBlock
            engine.send(request, on: .main) { result in print(result) }  // setCompletionBlockWithSuccess:failure:
            engine.send(Request("cities")) { result in print(result) }  // getPath:parameters:success:failure:
            for await progress in connection.progress { print(progress.received) }  // setDownloadProgressBlock:
            let download = engine.start(request, to: file)  // outputStream
            let upload = try await engine.upload(request, from: UploadSource(once: stream))  // inputStream
            let again = connection.retry()  // copy, for a retry
            let archive = try connection.snapshot.json()  // encodeWithCoder: does not pause it
            // cancelAllHTTPOperationsWithMethod:path:
            engine.cancel { $0.request.method == .get && $0.request.url == "cities" }
            // enqueueBatchOfHTTPRequestOperationsWithRequests:progressBlock:completionBlock:
            let batch = engine.batch(requests)
            engine.start(batch)
            for await progress in batch.progress { print(progress.completed, progress.count) }  // progressBlock
            print(await batch.results.count)  // completionBlock: after all callbacks
            do throws(ConnectionError) {
                print(try await engine.send(request.decoding([String].self)))  // responseJSON, responseObject
            } catch {
                print(error.response?.body ?? Data())  // AFNetworkingOperationFailingURLResponseDataErrorKey
            }
            print(download, upload, again, archive)
        }
        configuration.baseURL = "https://api.example.com/v1/"  // initWithBaseURL:
        configuration.headers[.acceptLanguage] = "ja"  // setDefaultHeader:value:
        configuration.redirectLimit = 0  // setRedirectResponseBlock: that follows no redirect
        configuration.credentials = session  // setWillSendRequestForAuthenticationChallengeBlock:
        configuration.lanes = ["images": LaneLimits(width: 4)]  // AFImageDownloader maximumActiveDownloads
        configuration.transportSettings.tls.pins = ["api.example.com": [pin]]  // AFSSLPinningMode, AFSecurityPolicy
        configuration.interceptors = [
            // acceptableStatusCodes, acceptableContentTypes
            ResponseValidator(statuses: 200...299, contentTypes: ["application/json"]),
            NullRemoval(),  // removesKeysWithNullValues
        ]
        request.credentials = [.bearer(.secret("token"))]  // setAuthorizationHeaderWithToken:
        request.destination = .json  // AFJSONParameterEncoding
        request.encoding = ParameterEncoding(arrays: .brackets)  // AFQueryStringFromParametersWithEncoding: a[]=1
        request.cache = .noStore  // setCacheResponseBlock: that returns nil
        request.body = .multipart([MultipartPart("name", "Nara")])  // constructingBodyWithBlock:
        request.replay = .durable  // setShouldExecuteAsBackgroundTaskWithExpirationHandler:
        // activationDelay, completionDelay
        let indicator = engine.activity.indicator(showDelay: .seconds(1), hideDelay: .milliseconds(170))
        for await _ in SystemReachability().changes { print("changed") }  // setReachabilityStatusChangeBlock:
        // setImageWithURL:placeholderImage:
        let portrait = RemoteValue(images, default: Picture()) { town.portraitURL }
        portrait.clear()  // cancelImageRequestOperation
        print(indicator)
    }

    // MARK: Mantle

    private enum ShopProperties {
        // JSONKeyPathsByPropertyKey
        static let latitude: Property<Shop, Double> = Property(\.latitude, .path("geo", "lat"))
        // several keys for one property
        static let name: Property<Shop, String> = Property(\.name, "name", or: "title")
        // +foundedJSONTransformer
        static let founded: Property<Shop, Date> = Property(\.founded, "founded", codec: .iso8601)
        // NSURL's transformer
        static let homepage: Property<Shop, URL> = Property(\.homepage, "url", codec: .url)
        // mtl_valueMappingTransformerWithDictionary:
        static let isOpen: Property<Shop, Bool> = Property(\.isOpen, "open", codec: .map(["y": true, "n": false]))
        // MTLPropertyStorageTransitory
        static let isShown: Property<Shop, Bool> = Property(\.isShown, "shown", access: .transient)
        // mtl_JSONDictionaryTransformerWithModelClass:
        static let mayor: Property<City, Person> = Property(\.mayor, "mayor")
        // mtl_JSONArrayTransformerWithModelClass:
        static let districts: Property<City, ModelCollection<District>> = Property(\.districts, "districts")
    }

    private nonisolated class Pet: Model {
        // +classForParsingJSONDictionary:
        override class func concreteClass(for object: ObjectMembers) -> Model.Type {
            object["kind"] == "dog" ? Dog.self : self
        }
    }

    private func mantle(text: Data, cities: ModelCollection<City>) throws {
        let city = try City(json: text)  // MTLJSONAdapter modelOfClass:fromJSONDictionary:error:
        let strict = try City(json: text, strict: true)  // with an error instead of a repair
        try cities.set(text)  // modelsOfClass:fromJSONArray:error:
        print(cities.rejected)  // elements that are no models; the others are added
        print(city.json)  // JSONDictionaryFromModel:error:
        print(city.changedJSON)  // serializablePropertyKeys:forModel: for an update
        try city.merge(strict.json)  // mergeValuesForKeysFromModel:
        print(city.isEqual(to: strict), city === strict)  // isEqual:, and identity
        try city.validate()  // validate:
        print(city.snapshot)  // dictionaryValue
        print(city.copy().name)  // copyWithZone:
    }

    // MARK: Backbone, RestKit

    private nonisolated final class Village: Model {
        override class var resource: Request? { Request("cities") }  // urlRoot, url
        override func request(for call: ModelCall, body: JSONValue?) throws -> Request {  // Backbone.sync
            try super.request(for: call, body: body.map { ["city": $0] })  // toJSON
        }
    }

    private func backbone(city: City, cities: ModelCollection<City>, context: ModelContext, text: Data) async throws {
        city.name = "Nara"  // set: change:name and change
        city.transaction { (city.name, city.population) = ("Nara", 350_000) }  // set of several attributes: one change
        print(city["name"] ?? .null)  // get
        try city.remove("name")  // unset
        city.removeAll()  // clear
        print(city.serverID ?? city.localID, city.isNew)  // id, cid, isNew
        let token = city.observe(City.name) { change in print(change.old, change.new) }  // on("change:name"), previous
        token.cancel()  // off, stopListening
        print(city.changedJSON, city.isDirty(City.name))  // changedAttributes, hasChanged: since the last sync
        print(city.violations)  // validate, isValid, validationError
        try await city.load()  // fetch
        try await city.save { $0.name = "Nara" }  // save
        try await city.save(.wait) { $0.name = "Nara" }  // save with {wait: true}
        try await city.save(as: .update)  // save with {patch: true}
        try await city.destroy()  // destroy
        let events = city.observeLoading { _, event in print(event) }  // request, sync, error
        let ids = context.observeIDs { change in print(change.old, change.new) }  // changeId
        print(events, ids)
        try cities.add(city)  // add
        try cities.append(city)  // push
        print(cities.popLast()?.name ?? "", cities.popFirst()?.name ?? "")  // pop, shift
        try cities.insert(city, at: 0)  // unshift, add with {at: 0}
        cities.remove(city)  // remove
        try cities.upsert(text)  // set with {remove: false}, add with {merge: true}
        try cities.set(text)  // set, reset
        print(cities[id: 7]?.name ?? "", cities[0].name)  // get, at
        cities.sortKeys = [.by(\.name, named: "name")]  // comparator
        cities.sort()  // sort
        print(cities.filter { $0.population > 0 }.count)  // where
        print(cities.first { $0.name == "Nara" }?.modelID ?? 0)  // findWhere
        print(cities.map(\.name))  // pluck
        try await cities.load()  // fetch
        try await cities.create(city)  // create
        let changes = cities.observe { changes in print(changes.insertions.count) }  // add, remove, sort, update, reset
        let bubbled = cities.observeModels { event in print(event.changes.map(\.key)) }  // events of its models
        print(cities.json)  // toJSON
        let clone = cities.copy()  // clone
        print(changes, bubbled, clone)
    }

    private func restKit(engine: Engine, cities: ModelCollection<City>, source: TableSource) async throws {
        var request = Request("cities")
        var configuration = Engine.Configuration()
        request.cache = .networkElseCache  // RKRequestCachePolicyLoadIfOffline, RKRequestCachePolicyLoadOnError
        request.cache = .automatic(maxAge: .seconds(300))  // RKRequestCachePolicyTimeout, cacheTimeoutInterval
        request.replay = .onFailure  // RKRequestBackgroundPolicyRequeue
        configuration.lanes["uploads"] = LaneLimits(width: 2)  // named RKRequestQueue
        let owner = CancellationOwner(isSilent: true)  // abortRequestsWithDelegate:
        cities.source = PageSource(
            engine, Request("cities"), paging: .page(size: 25),  // RKPaginator, perPage
            format: PageFormat(items: "items", total: "total"))  // paginationMapping
        try await cities.next()  // loadNextPage
        print(cities.total ?? -1, cities.hasMore, cities.position)  // objectCount, hasNextPage, currentPage
        try await cities.load()  // removes orphans: the list is the server's
        print(source.presentation == .offline)  // RKTableController's states: loading, empty, error, offline
        print(request, configuration, owner)
    }
}

extension Dog: Representable {  // a category of the model class, in the target of the views
    // representationAsCellForRowAtIndexPath:
    func representation(in context: RepresentationContext, state: RowState) -> String? { name }
}

private func showAlert(_ message: String) async {}

private nonisolated struct Picture: Sendable {
    init() {}
    init(_ data: Data) throws {}
}

private final class Town {
    var portraitURL = ""
}

private final class CityCell {
    var text = ""
    var isEmphasized = false
}

private nonisolated final class Shop: Model {
    var latitude = 0.0
    var name = ""
    var founded = Date.distantPast
    var homepage = URL(filePath: "/")
    var isOpen = false
    var isShown = false
}

private protocol Named {
    var name: String { get }
}
